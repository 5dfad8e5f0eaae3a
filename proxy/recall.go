package proxy

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/stet-dev/stet/internal/cachestate"
	"github.com/stet-dev/stet/record"
)

const (
	caughtUp  = 500             // turns that are loaded when another process seems to have asked
	maxRecall = 2 * time.Second // time that loading may take
)

// recall loads from the store what earlier processes, and others of now, knew of the
// requests that were answered.
type recall struct {
	state *cachestate.State
	store record.Store // nil: there is nothing to load
	log   *slog.Logger
	once  sync.Once

	mu     sync.Mutex
	looked time.Time // when catchUp last loaded something
}

// begin loads all that is remembered, once.
func (c *recall) begin() { c.once.Do(func() { c.load(cachestate.MaxTurns) }) }

// catchUp loads what the store has of a request that another process may have asked the beginning of. Where answers stay unknown, it
// loads what is new in the store: once a second at most, because some conversations stay unknown for ever.
func (c *recall) catchUp(r *cachestate.Request) {
	if c.begin(); c.store == nil || !r.Chain.Answered() {
		return
	}
	if wanted := c.state.Wants(r); len(wanted) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), maxRecall)
		defer cancel()
		turns, err := c.store.TurnsAt(ctx, wanted)
		if err != nil {
			c.log.Warn("earlier moments of a conversation are not recalled", "error", err)
			return // it would not answer now either
		}
		c.state.TakeOf(r, turns)
	}
	if c.state.Unknown(r) > 1 && c.due(r.Time) { // one is the answer to the request before
		c.load(caughtUp)
	}
}

// due reports whether it is time to load, and notes that it is done. It is, too, where the clock was put back.
func (c *recall) due(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	passed := now.Sub(c.looked)
	due := passed < 0 || passed >= time.Second
	if due {
		c.looked = now
	}
	return due
}

// load takes in the newest turns of the store: so many with a cold point, and as many without.
func (c *recall) load(limit int) {
	if c.store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxRecall)
	defer cancel()
	turns, err := c.store.Turns(ctx, limit)
	if err != nil {
		c.log.Warn("earlier moments are not recalled", "error", err)
		return
	}
	c.state.Take(turns)
}
