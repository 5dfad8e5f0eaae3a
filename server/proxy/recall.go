package proxy

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy/cachestate"
)

const (
	caughtUp  = 500             // turns loaded when another process seems to have sent requests
	maxRecall = 2 * time.Second // time limit for a load
)

// recall loads answered requests from the store that earlier processes, or other running ones, have recorded.
type recall struct {
	state *cachestate.State
	store record.Store // nil: there is nothing to load
	log   *slog.Logger
	once  sync.Once

	mu     sync.Mutex
	looked time.Time // when catchUp last loaded the newest turns
}

// begin loads the newest turns, once.
func (c *recall) begin() { c.once.Do(func() { c.load(cachestate.MaxTurns) }) }

// catchUp loads the stored turns of a conversation that another process may have begun. If some answers are still unknown, it loads the
// newest turns of the store. It does so at most once a second, because some conversations stay unknown for ever.
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
			return // the store would not answer the next question either
		}
		c.state.TakeOf(r, turns)
	}
	if c.state.Unknown(r) > 1 && c.due(r.Time) { // one unknown answer is normal: the answer to the previous request
		c.load(caughtUp)
	}
}

// due reports whether it is time to load, and if so records the time. It is also time if the clock was set back.
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

// load reads the newest turns of the store: up to limit with a cold point, and up to limit without.
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
