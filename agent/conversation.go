package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/session"
)

// Conversation is a session in use. Run, Compact and Rewind wait for each other. All other methods may be called
// concurrently.
type Conversation struct {
	a       *Agent
	system  []llm.Message // the system messages; they never change
	opening session.Opening

	turn *semaphore.Weighted // held by methods that change the conversation

	// Guarded by turn.
	plan     planned // of the last request
	backoff  backoff // delays the next compaction
	answered bool    // the model has answered since the turn began

	mu           sync.Mutex
	ses          *session.Session // nil until the first message is stored
	client       string           // the client session of its tools: the first session of a chain of compactions
	before       bill             // usage and cost of earlier sessions of the chain
	tally        tally            // usage and cost of this session
	meter        tokens.Meter     // guarded by Agent.mu
	fitted       *fitted          // nil: all stored messages are sent
	thinkingFrom int              // if the provider checks thinking, the thinking of messages before this index is not sent
	pending      []session.Body   // observations and decisions that are not stored yet
}

// New begins a conversation. Its session is stored with the first message.
func (a *Agent) New(ctx context.Context) (*Conversation, error) {
	if err := a.setUp(); err != nil {
		return nil, err
	}
	c := a.conversation(nil)
	a.learned.Do(func() {
		if err := c.learn(ctx); err != nil {
			a.log().Warn("sizes of earlier requests", "err", err)
		}
	})
	return c, nil
}

// learn calibrates the estimate by the first request of the newest earlier session with this model. So the first estimate of a
// conversation is close, too.
func (c *Conversation) learn(ctx context.Context) error {
	const sessions, events = 8, 2000 // a longer session takes time to read
	found, err := c.a.Store.List(ctx, session.Query{Dir: c.a.Dir, Limit: sessions})
	if err != nil {
		return err
	}
	for _, info := range found {
		if info.Model != c.a.Name || info.Last > events || info.From.Session != "" {
			continue
		}
		stored, _, err := c.a.Store.Events(ctx, info.ID, 0)
		if err != nil {
			return err
		}
		st := session.FoldEvents(info.ID, stored)
		for i, m := range st.Messages {
			if m.Usage != nil && m.Usage.Prompt() > 0 && m.Model == c.a.Name {
				estimate := c.buildOf(st, st.Messages[:i], new(planned)).estimate
				c.a.mu.Lock()
				defer c.a.mu.Unlock()
				c.a.calibration.Observe(estimate, m.Usage.Prompt())
				return nil
			}
		}
	}
	return nil
}

func (a *Agent) conversation(ses *session.Session) *Conversation {
	c := &Conversation{
		a: a, turn: semaphore.NewWeighted(1), ses: ses, system: a.Prompt.messages(),
		opening: session.Opening{Dir: a.Dir},
	}
	c.meter.Calibration = &a.calibration
	return c
}

// Resume continues a stored session. If the session was compacted, Resume continues the newest session of the chain.
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
	if err := c.readChain(ctx, ses.State()); err != nil {
		return nil, err
	}
	c.restore()
	return c, nil
}

// follow moves to the newest session of the chain if another process has compacted this one. It reports whether it moved.
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

// readChain reads the earlier sessions of the chain. The first one gives the client session its name. The usage of all of
// them is counted.
func (c *Conversation) readChain(ctx context.Context, st session.State) error {
	c.client = st.ID
	seen := map[string]bool{}
	for {
		if seen[st.ID] = true; st.From.Relation != session.Compacted || seen[st.From.Session] {
			return nil
		}
		was, err := session.Resume(ctx, c.a.Store, st.From.Session)
		if errors.Is(err, session.ErrNotFound) {
			return nil // the session is in another store
		}
		if err != nil {
			return err
		}
		st = was.State()
		c.client = st.ID
		c.before = c.before.plus(billOf(st))
	}
}

// ID returns the name of the session in the store. It changes after a compaction, and is "" before the first message.
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

// State returns the stored state of the conversation.
func (c *Conversation) State() session.State {
	if s := c.session(); s != nil {
		return s.State()
	}
	return session.State{}
}

// Rewind goes back to the state after event number to. It does not change files on disk: see filetools for undo. The next
// Run shows the model which files differ from what it knows.
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

// Fork begins another conversation with the events up to number at; 0: all events.
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
	if err := c.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	c.answered = false
	return nil
}

func (c *Conversation) leave() { c.turn.Release(1) }
