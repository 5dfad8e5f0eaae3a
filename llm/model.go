package llm

import (
	"context"
	"encoding/json"
	"time"
)

// Model answers requests. Its methods may be called concurrently and leave the
// request as it is; Request.Stream plays no part.
//
// An error that the endpoint gave wraps an *[Error] and, where it is one of
// them, [ErrOverloaded], [ErrTooLong], [ErrAuth] or [ErrInvalid]. An answer
// that ended before its end is [ErrBroken]. A context that ended is its own
// error, at once. What may pass is tried again, with growing pauses, as long as
// nothing of an answer was there to be seen; after that the caller decides.
type Model interface {
	// Complete returns the whole answer.
	Complete(ctx context.Context, req *Request) (*Response, error)

	// Stream calls each, in this goroutine, with every piece of the answer as
	// it comes in, and returns the whole answer at its end. If each is nil,
	// the pieces are not shown.
	//
	// Beside an error Response holds what was there of the answer, nil if
	// nothing was: the parts that were whole, and the text so far. Calls and
	// thinking that were not whole are not in it: neither could be sent back.
	Stream(ctx context.Context, req *Request, each func(Event)) (*Response, error)
}

// ThinkingChecker is a Model of an API whose provider may refuse a request in which
// something before a block of thinking is not what it was when the block was made.
// Whether it does goes by the model.
type ThinkingChecker interface{ ChecksThinking() bool }

// EventKind says what an Event tells.
type EventKind uint8

// The kinds of events. Those of one part come in order: deltas, then the whole
// call. Index tells the parts apart.
const (
	TextDelta     EventKind = iota // Text was added to the text at Index
	ThinkingDelta                  // Text was added to the thinking at Index; there may be none to read
	CallDelta                      // Text was added to the arguments of the call at Index; Call has ID and name
	CallDone                       // Call at Index is there; where the answer then stops at its limit, the last one may be cut
	UsageSaid                      // Usage is what was said of it so far
	Stopped                        // the answer is whole; Reason as the provider says it
	Retrying                       // Err came before any answer; the next attempt is made after Wait
)

// Event is one piece of an answer.
type Event struct {
	Kind   EventKind
	Index  int // of the part in the answer's Message.Parts
	Text   string
	Call   Part
	Usage  Usage
	Reason string
	Err    error
	Wait   time.Duration
}

// Stop says in words of our own why an answer ended.
type Stop uint8

const (
	StopDone    Stop = iota // the model has said what it had to say
	StopCalls               // it waits for the results of its calls
	StopLimit               // the limit of tokens, or the window, cut it off: the last call may be half
	StopRefused             // it, or a filter, refused to go on
	StopPaused              // the provider paused a long turn: send the answer back to go on
	StopOther               // for another reason
)

// Stop says why the answer ended. Some providers name calls or a refusal as a
// reason, and some do not: what the answer holds decides.
func (r *Response) Stop() Stop {
	switch r.StopReason {
	case "end_turn", "stop", "stop_sequence", "completed", "tool_use", "tool_calls", "function_call":
		return r.stopWell()
	case "max_tokens", "length", "max_output_tokens", "model_context_window_exceeded":
		return StopLimit
	case "refusal", "content_filter":
		return StopRefused
	case "pause_turn":
		return StopPaused
	}
	return StopOther
}

func (r *Response) stopWell() Stop {
	stop := StopDone
	for _, p := range r.Message.Parts {
		if p.Kind == ToolCall {
			return StopCalls
		}
		var said struct{ Type string }
		if p.Kind == Opaque && json.Unmarshal([]byte(p.Raw), &said) == nil && said.Type == "refusal" {
			stop = StopRefused
		}
	}
	return stop
}
