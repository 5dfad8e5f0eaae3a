package check

import (
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/transcript"
)

// A recorded session, taken apart: the parts that were sent to the model, and the requests that sent them.
//
// A request is what the session had before an answer. The requests of one context grow from one to the next; the agent begins a
// new context when it compacts or goes back.

// Recording is a session with its parts and requests. It is immutable.
type Recording struct {
	Session  *transcript.Session
	Parts    []Part // all that were sent, in the order of the session
	First    []int  // by message: the index of its first part; one more entry for the end
	Requests []Request

	callOf map[int]int // by result: the call that it answers
}

// Part is one part of a message that was sent.
type Part struct {
	*llm.Part
	Message *llm.Message
}

// Request is one request of the session: Messages[From:To] without the local
// ones. Messages[To] is its answer.
type Request struct {
	From, To       int
	Model          string    // the model that answered, or the last one that is known
	Sent, Answered time.Time // zero: unknown
}

// NewRecording takes a session apart.
func NewRecording(s *transcript.Session) *Recording {
	r := &Recording{Session: s}
	carried := make(map[int]bool, len(s.Carried))
	for _, i := range s.Carried {
		carried[i] = true
	}
	var clock time.Time
	var model string
	starts, from, hasInput := s.Starts, 0, false
	for i := range s.Messages {
		for ; len(starts) > 0 && starts[0] <= i; starts = starts[1:] {
			if starts[0] == i && i > 0 {
				from, hasInput = i, false
			}
		}
		m := &s.Messages[i]
		if m.Role == llm.Assistant && !m.Local && !carried[i] && hasInput {
			if m.Model != "" {
				model = m.Model
			}
			r.Requests = append(r.Requests, Request{from, i, model, clock, m.Time})
		}
		if m.Time.After(clock) {
			clock = m.Time
		}
		hasInput = hasInput || !m.Local
		r.First = append(r.First, len(r.Parts))
		if m.Local {
			continue
		}
		for j := range m.Parts {
			r.Parts = append(r.Parts, Part{&m.Parts[j], m})
		}
	}
	r.First = append(r.First, len(r.Parts))
	r.pair()
	return r
}

// Begin returns the index of the first part of q's context.
func (r *Recording) Begin(q *Request) int { return r.First[q.From] }

// End returns the index of the part after the last one of q.
func (r *Recording) End(q *Request) int { return r.First[q.To] }

// Usage returns the tokens of request i as the provider reported them; nil where
// it did not.
func (r *Recording) Usage(i int) *llm.Usage { return r.Session.Messages[r.Requests[i].To].Usage }

// pair finds which result answers which call. Several calls may have one id: a
// result then answers a call of the newest message with that id, the first one
// without a result; if all of them have one, the last.
func (r *Recording) pair() {
	r.callOf = make(map[int]int)
	waiting := make(map[string][]int) // calls by id; the last one is never removed
	for at, part := range r.Parts {
		id := part.CallID
		switch open := waiting[id]; part.Kind {
		case llm.ToolCall:
			if len(open) > 0 && r.Parts[open[0]].Message != part.Message {
				open = nil
			}
			waiting[id] = append(open, at)
		case llm.ToolResult:
			if len(open) == 0 {
				continue
			}
			call := open[0]
			if r.callOf[at] = call; len(open) > 1 {
				waiting[id] = open[1:]
			}
		}
	}
}

// Call returns the call that a result answers; nil where there is none.
func (r *Recording) Call(result int) *llm.Part {
	if call, ok := r.callOf[result]; ok {
		return r.Parts[call].Part
	}
	return nil
}
