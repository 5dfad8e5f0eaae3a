package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/tokens"
)

// Conversation is one session at work. Run, Compact and Rewind are called one
// at a time, and wait for each other; the other methods may be called beside
// them.
type Conversation struct {
	a       *Agent
	system  []llm.Message // what stands before it; the same for all of its life
	opening session.Opening

	turn  chan struct{} // of capacity 1: held by who changes the conversation
	plan  planned       // of the last request; for who has the turn, as are the next two
	brake brake

	answered bool // the model has answered in this turn

	mu      sync.Mutex
	ses     *session.Session // nil before the first message
	client  string           // the client session of its tools: the first session of all compactions
	before  bill             // of the sessions that were compacted, and of tasks
	tally   tally            // of this session
	meter   tokens.Meter     // guarded by Agent.mu
	fitted  *fitted          // nil: all that is stored is sent
	mute    int              // of the first so many messages no thinking is sent, where the provider checks it
	pending []session.Body   // observations and decisions that are not stored yet
}

// New begins a conversation. Nothing is stored before the first message.
func (a *Agent) New(context.Context) (*Conversation, error) {
	if err := a.setUp(); err != nil {
		return nil, err
	}
	return a.conversation(nil), nil
}

func (a *Agent) conversation(ses *session.Session) *Conversation {
	c := &Conversation{
		a: a, turn: make(chan struct{}, 1), ses: ses, system: a.Prompt.messages(),
		opening: session.Opening{Dir: a.Dir},
	}
	c.meter.Calibration = &a.calibration
	return c
}

// Resume goes on with a stored session, or with the one that went on after its
// compactions.
func (a *Agent) Resume(ctx context.Context, id string) (*Conversation, error) {
	if err := a.setUp(); err != nil {
		return nil, err
	}
	open, err := session.Follow(ctx, a.Store, id)
	if err != nil {
		return nil, err
	}
	ses, err := session.Resume(ctx, a.Store, open.ID)
	if err != nil {
		return nil, err
	}
	c := a.conversation(ses)
	if err := c.lookBack(ctx, ses.State()); err != nil {
		return nil, err
	}
	c.restore()
	return c, nil
}

// follow goes on in the session that goes on, where another process has compacted
// this one. It reports whether it had to.
func (c *Conversation) follow(ctx context.Context) (bool, error) {
	next := c.State().Next
	if next == "" {
		return false, nil
	}
	there, err := c.a.Resume(ctx, next)
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	c.ses, c.client, c.before = there.ses, there.client, there.before
	c.mu.Unlock()
	c.restore()
	return true, nil
}

// lookBack learns what the sessions before the compactions say: the first of
// them names the client session, and all were paid for.
func (c *Conversation) lookBack(ctx context.Context, st session.State) error {
	c.client = st.ID
	seen := map[string]bool{}
	for {
		tasks, err := billOfTasks(ctx, c.a.Store, st.ID)
		if err != nil {
			return err
		}
		c.before = c.before.plus(tasks)
		if seen[st.ID] = true; st.From.Relation != session.Compacted || seen[st.From.Session] {
			return nil
		}
		was, err := session.Resume(ctx, c.a.Store, st.From.Session)
		if errors.Is(err, session.ErrNotFound) {
			return nil // it was stored elsewhere
		}
		if err != nil {
			return err
		}
		st = was.State()
		c.client = st.ID
		c.before = c.before.plus(billOf(st))
	}
}

// ID is the name of the session in the store: another one after a compaction,
// and "" before the first message.
func (c *Conversation) ID() string {
	if s := c.session(); s != nil {
		return s.ID()
	}
	return ""
}

func (c *Conversation) session() *session.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ses
}

// State is what is stored of the conversation.
func (c *Conversation) State() session.State {
	if s := c.session(); s != nil {
		return s.State()
	}
	return session.State{}
}

// Rewind goes back to what the conversation was after event number to. The
// files on disk stay as they are: see filetools for undo. The model is told at
// the next Run where they are not what it knows.
func (c *Conversation) Rewind(ctx context.Context, to uint64) error {
	if err := c.enter(ctx); err != nil {
		return err
	}
	defer c.leave()
	ses := c.session()
	if ses == nil {
		return fmt.Errorf("rewind: %w", session.ErrNotFound)
	}
	if err := ses.Rewind(ctx, to); err != nil {
		return err
	}
	c.restore()
	return nil
}

// Fork begins another conversation that goes another way after event number
// at; 0 is the newest.
func (c *Conversation) Fork(ctx context.Context, at uint64) (*Conversation, error) {
	ses := c.session()
	if ses == nil {
		return nil, fmt.Errorf("fork: %w", session.ErrNotFound)
	}
	forked, err := ses.Fork(ctx, at)
	if err != nil {
		return nil, err
	}
	f := c.a.conversation(forked)
	f.client = forked.ID()
	f.restore()
	return f, nil
}

func (c *Conversation) enter(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		c.answered = false
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Conversation) leave() { <-c.turn }
