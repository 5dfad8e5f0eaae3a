package proxy

import (
	"encoding/json"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/server/proxy/sent"
	"github.com/stet-dev/stet/trim"
)

// The engine's state after a request is held with the request (recent.go). The next request of the conversation continues from it.
// Otherwise the state is made again from what was sent (trim.Engine.Resume).

// planState is the engine's state after it planned a request.
type planState struct {
	state  *trim.State
	engine *trim.Engine
	form   *sent.Form // in which the request was sent
	formed bool       // form is known
	begin  begin      // what the request went on from
	cold   bool       // it was planned at a cold point
}

// continues reports whether a request can go on from the state.
func (s *planState) continues(d *reading, engine *trim.Engine) bool {
	if s.engine != engine || s.state == nil || s.state.Len() > d.common {
		return false
	}
	switch engine.Policy() {
	case trim.Lossless, trim.Adaptive, trim.Bold:
		b := &d.forms.begin
		if s.formed && s.state.Len() == b.upto && s.form.Same(b.Form) {
			return true
		}
		if s.cold || d.verdict.New != "" || b.cold || s.begin.upto != b.upto || !s.begin.Form.Same(b.Form) {
			return false // else the request repeats the one before, or counts its tokens
		}
	}
	messages := d.planned()
	return s.state.Len() <= len(messages) && (s.state.Len() == len(messages) || messages[s.state.Len()].Role == llm.Assistant)
}

// planned returns the messages that are planned. Text of the messages after an answer may leave in the middle of work, so the
// answer at the end of a request for a summary is not among them.
func (d *reading) planned() []llm.Message {
	messages := d.request.Messages
	for d.compacts && len(messages) > 0 && messages[len(messages)-1].Role == llm.Assistant {
		messages = messages[:len(messages)-1]
	}
	return messages
}

// resume returns the engine's state after the messages that were sent before. behind has the edits with which they were sent.
func (r *recent) resume(d *reading, engine *trim.Engine, behind *trim.Plan, head int) planState {
	if now := r.take(d, engine); now.state != nil {
		now.state.KeepWhole(head)
		return now
	}
	b := &d.forms.begin
	s := trim.Sent{Whole: head, Messages: min(b.upto, len(d.planned())), ClearedCalls: behind.ClearedCalls, Edits: behind.Edits}
	if b.whole {
		s.Messages = min(b.Messages, len(d.planned()))
	}
	for _, o := range behind.Omissions {
		s.Reasons = append(s.Reasons, o.Reason)
	}
	_ = json.Unmarshal(b.Form.Balance(), &s.Balance) // an account that cannot be read is a new one
	return planState{state: engine.Resume(d.request.Messages, s), engine: engine}
}

// grow adds the new messages of a request.
func (s *planState) grow(d *reading) {
	messages := d.planned()
	if stable := min(d.chain.Skip+d.chain.Stable, len(messages)); d.verdict.New != "" || d.forms.begin.cold {
		s.state.Add(messages[s.state.Len():max(stable, s.state.Len())]...)
		if d.verdict.New != "" {
			s.state.Cold(d.verdict.New, 0)
		} else {
			s.state.Cold(trim.Gap, d.forms.begin.keep)
		}
	}
	s.state.Add(messages[s.state.Len():]...)
	s.formed, s.begin, s.cold = false, d.forms.begin, d.verdict.New != "" || d.forms.begin.cold || d.forms.begin.whole
}
