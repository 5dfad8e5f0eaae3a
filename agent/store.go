package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/session"
)

// storing is the time limit of storing an event after the caller's context has ended.
const storing = 10 * time.Second

// append stores the pending observations and decisions, and then bodies. It does so even if ctx has ended, so that nothing
// is lost.
//
// Another process may have added events to the session. If it added no messages, the bodies are stored after its events. If
// it added messages, the error is session.ErrStale: see elsewhere. After any error the pending events are dropped, as after
// a crash.
func (c *Conversation) append(ctx context.Context, bodies ...session.Body) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storing)
	defer cancel()
	c.mu.Lock()
	all := slices.Concat(c.pending, bodies)
	c.pending = nil
	ses := c.ses
	c.mu.Unlock()
	if len(all) == 0 {
		return nil
	}
	err := c.store(ctx, ses, all)
	if err != nil && ses != nil {
		c.restore()
	}
	return err
}

func (c *Conversation) store(ctx context.Context, ses *session.Session, all []session.Body) error {
	if ses == nil {
		return c.create(ctx, all)
	}
	for was := ses.State(); ; {
		err := ses.Append(ctx, all...)
		if !errors.Is(err, session.ErrStale) {
			return err
		}
		if refreshed := ses.Refresh(ctx); refreshed != nil {
			return errors.Join(err, refreshed)
		}
		if now := ses.State(); newest(now) != newest(was) || now.Next != "" {
			return c.elsewhere(ctx, ses, was, all, err)
		}
	}
}

// newest returns the event number of the newest message, or 0 if there is none. Two states of a session with the same
// number have the same messages.
func newest(st session.State) uint64 {
	if n := len(st.Marks); n > 0 {
		return st.Marks[n-1]
	}
	return 0
}

// elsewhere returns the error that another process, or another Conversation of this process, has continued the session. If
// the model has answered in this turn, the turn's work is kept in a fork. Otherwise nothing is stored, because the person
// can repeat the prompt.
func (c *Conversation) elsewhere(ctx context.Context, ses *session.Session, was session.State, all []session.Body, err error) error {
	since := time.Now()
	if added, _, failed := c.a.Store.Events(ctx, was.ID, was.Last); failed == nil && len(added) > 0 {
		since = added[0].Time
	}
	where := fmt.Sprintf("session %s is open in another process (since %s), and has gone on there from event %d",
		was.ID, since.Local().Format(time.DateTime), was.Last)
	if !c.answered {
		return fmt.Errorf("%s: nothing was stored; say it again, or fork the session there: %w", where, err)
	}
	fork, failed := ses.Fork(ctx, was.Last)
	if failed == nil {
		failed = fork.Append(ctx, all...)
	}
	if failed != nil {
		return errors.Join(fmt.Errorf("%s: %w", where, err), failed)
	}
	return fmt.Errorf("%s: what was done here is kept in session %s: %w", where, fork.ID(), err)
}

// create creates the session with its first events.
func (c *Conversation) create(ctx context.Context, all []session.Body) error {
	ses, err := session.Create(ctx, c.a.Store, c.opening, all...)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.ses, c.client = ses, ses.ID()
	c.mu.Unlock()
	if t := c.tracker(); t != nil {
		t.Watch(c.observed)
		c.inPrompt(t, nil)
	}
	return nil
}

// restore sets the state that follows from the stored session: what the tools know about files, and the last reported size.
func (c *Conversation) restore() {
	st := c.ses.State()
	c.mu.Lock()
	c.fitted, c.pending, c.thinkingFrom = nil, nil, len(st.Messages)
	c.mu.Unlock()
	c.plan, c.backoff = planned{}, backoff{}
	if t := c.tracker(); t != nil {
		t.Restore(st.Files)
		t.Watch(c.observed)
		c.inPrompt(t, st.Files)
	}
	c.a.mu.Lock()
	c.meter = tokens.Meter{Calibration: &c.a.calibration}
	c.a.mu.Unlock()
	for i := len(st.Messages) - 1; i >= 0; i-- {
		if m := &st.Messages[i]; m.Usage != nil && m.Usage.Prompt() > 0 && !m.Local {
			c.measure(c.buildOf(st, st.Messages[:i], new(planned)).estimate, *m.Usage)
			break
		}
	}
}

// tracker returns what the tools know about files, or nil if there is no tracker.
func (c *Conversation) tracker() *freshness.Tracker {
	c.mu.Lock()
	client := c.client
	c.mu.Unlock()
	if c.a.Files == nil || client == "" {
		return nil
	}
	return c.a.Files.Tracker(client)
}

// observed keeps an observation until the next event is stored. Checks of the disk that found no change are not kept.
func (c *Conversation) observed(o freshness.Observation) {
	if o.Kind == freshness.Seen {
		return
	}
	c.keep(session.File(o))
}

// keep keeps an event until the next one is stored.
func (c *Conversation) keep(b session.Body) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = append(c.pending, b)
}
