package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stet-dev/stet/freshness"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/tokens"
)

// storing is how long an event may take that has to be stored although nobody
// waits any more.
const storing = 10 * time.Second

// append stores bodies, and before them what was observed of files till now. It
// does so even if ctx has ended: what was said is not lost.
//
// Where somebody else has added to the session meanwhile, but nothing to the
// conversation, it is stored behind that; else the error is session.ErrStale, and
// the conversation is what the other has made of it. After any error what was
// observed counts as not observed, as after a crash.
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
	was := ses.State()
	err := ses.Append(ctx, all...)
	if !errors.Is(err, session.ErrStale) {
		return err
	}
	if refreshed := ses.Refresh(ctx); refreshed != nil {
		return errors.Join(err, refreshed)
	}
	if now := ses.State(); len(now.Marks) != len(was.Marks) || len(now.Marks) > 0 && now.Marks[len(now.Marks)-1] != was.Marks[len(was.Marks)-1] {
		return fmt.Errorf("the conversation goes on elsewhere: %w", err)
	}
	return ses.Append(ctx, all...)
}

// create begins the session.
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
	}
	return nil
}

// restore brings what stands beside the stored conversation to where that is:
// the tools' knowledge of files, and the size that was last reported.
func (c *Conversation) restore() {
	st := c.ses.State()
	c.mu.Lock()
	c.fitted, c.pending = nil, nil
	c.mu.Unlock()
	c.plan, c.brake = planned{}, brake{}
	if t := c.tracker(); t != nil {
		t.Restore(st.Files)
		t.Watch(c.observed)
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

// tracker is what the tools know of files, nil if nobody says.
func (c *Conversation) tracker() *freshness.Tracker {
	c.mu.Lock()
	client := c.client
	c.mu.Unlock()
	if c.a.Files == nil || client == "" {
		return nil
	}
	return c.a.Files.Tracker(client)
}

// observed keeps an observation till the next event is stored. That the disk
// was only looked at can be seen again.
func (c *Conversation) observed(o freshness.Observation) {
	if o.Kind == freshness.Seen {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = append(c.pending, session.File(o))
}
