package agent

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
)

// run is one Run of a conversation.
type run struct {
	*Conversation
	out   Outcome
	loops loopDetector
	cut   int // answers in a row that were cut off or empty

	telling sync.Mutex
	each    func(Event)
}

// tell passes an event to the caller of Run, one at a time.
func (r *run) tell(e Event) {
	if r.each == nil {
		return
	}
	r.telling.Lock()
	defer r.telling.Unlock()
	r.each(e)
}

// Run adds the person's message and lets the model work until it is done. Without parts the conversation continues where it
// was interrupted. each may be nil. Otherwise it gets every event, one at a time. It must not call Run, Compact or Rewind.
// When ctx ends, everything that has happened so far is stored, and Run returns the error of ctx.
func (c *Conversation) Run(ctx context.Context, said []llm.Part, each func(Event)) (Outcome, error) {
	if err := c.enter(ctx); err != nil {
		return Outcome{End: Failed}, err
	}
	defer c.leave()
	r := &run{Conversation: c, each: each, loops: loopDetector{limit: cmp.Or(c.a.Repeats, 3)}}
	err := r.work(ctx, said)
	if err != nil {
		r.out.End = Failed
	}
	return r.out, err
}

// work is the loop: send a request, run the calls of the answer, send the next request.
func (r *run) work(ctx context.Context, said []llm.Part) error {
	moved, err := r.follow(ctx)
	if err != nil {
		return err
	}
	if moved {
		r.tell(Event{Kind: Compacted, To: r.ID(), Fill: r.Fill()})
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	due, err := r.begin(ctx, said)
	for due && err == nil {
		if r.out.Turns >= cmp.Or(r.a.MaxTurns, 200) {
			r.out.End = Turns
			return nil
		}
		due, err = r.step(ctx)
	}
	return err
}

// begin stores the person's message with the current reminders. It reports whether a request is due.
func (r *run) begin(ctx context.Context, said []llm.Part) (bool, error) {
	st := r.State()
	last := llm.Role("")
	for _, m := range st.Messages {
		if !m.Local {
			last = m.Role
		}
	}
	parts := said[:len(said):len(said)]
	switch {
	case len(said) > 0 && isEmpty(llm.Message{Parts: said}):
		return false, errors.New("run: the prompt is blank")
	case len(said) > 0:
	case last == "":
		return false, errors.New("run: there is no prompt, and no conversation to continue")
	case last == llm.Assistant && cutOffNote(st) == nil:
		return false, nil
	case last == llm.Assistant:
		parts = append(parts, reminder("Your last answer was cut off. Go on where it ends."))
	}
	if parts = append(parts, r.reminders(ctx)...); len(parts) == 0 {
		return true, nil
	}
	bodies := []session.Body{newMessage(llm.User, parts...)}
	if t := llm.Title(cmp.Or(st.First, textOf(llm.Message{Parts: said}))); st.Title == "" && t != "" {
		bodies = append(bodies, session.Title(t))
	}
	return true, r.append(ctx, bodies...)
}

// step makes one request and handles its answer. It reports whether another request is due.
func (r *run) step(ctx context.Context) (bool, error) {
	b, err := r.prepare(ctx)
	if err != nil {
		return false, err
	}
	b.fold.Log(b.plan)
	r.tell(Event{Kind: Asking, Fill: r.fill(b), Plan: b.plan.Stats})
	res, err := r.a.Model.Stream(ctx, b.req, func(e llm.Event) { r.tell(Event{Kind: Piece, Piece: e}) })
	if err != nil {
		return r.failedRequest(ctx, b, res, err)
	}
	r.backoff.refused, r.answered = 0, true
	r.out.Turns++
	r.out.Usage = r.out.Usage.Add(res.Usage)
	r.out.Stop, r.out.Text = res.Stop(), textOf(res.Message)
	r.measure(b.estimate, res.Usage)
	if isEmpty(res.Message) {
		return r.emptyAnswer(ctx, res)
	}
	m := r.answer(res)
	if err := r.append(ctx, session.Message(m)); err != nil {
		return false, err
	}
	r.tell(Event{Kind: Answered, Message: m, Usage: res.Usage})
	calls := callsOf(m)
	switch stop := res.Stop(); {
	case stop == llm.StopRefused:
		r.out.End = Refused
		return false, r.refuse(ctx, calls)
	case len(calls) > 0:
		r.cut = 0
		return r.do(ctx, calls, stop == llm.StopLimit)
	case stop == llm.StopPaused:
		return true, nil
	case stop == llm.StopLimit:
		due, err := r.askToGoOn(ctx, "Your answer was cut off at the limit of its length. Go on where it ends.")
		if !due && err == nil {
			err = r.append(ctx, newCutOffNote("it reached the limit of its length"))
		}
		return due, err
	}
	return false, nil
}
