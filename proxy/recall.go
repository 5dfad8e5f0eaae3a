package proxy

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/stet-dev/stet/internal/cachestate"
	"github.com/stet-dev/stet/record"
)

const (
	caughtUp  = 500             // turns that are loaded when another process seems to have asked
	maxRecall = 2 * time.Second // time that loading may take
	storeRest = 5 * time.Second // after a load that took too long, requests do not wait for the store during this time
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
	slow   time.Time // when a load last took too long
}

// begin loads all that is remembered, once.
func (c *recall) begin() { c.once.Do(func() { c.load(cachestate.MaxTurns) }) }

// catchUp loads what the store has of a request that another process may have asked the beginning of. Where answers stay unknown, it
// loads what is new in the store: once a second at most, because some conversations stay unknown for ever.
func (c *recall) catchUp(r *cachestate.Request) {
	if c.begin(); c.store == nil || !r.Chain.Answered() || c.rests() {
		return
	}
	if wanted := c.state.Wants(r); len(wanted) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), maxRecall)
		defer cancel()
		turns, err := c.store.TurnsAt(ctx, wanted)
		if err != nil {
			c.fail(err)
			return
		}
		c.state.TakeOf(r, turns)
	}
	if c.state.Unknown(r) > 1 && c.due(r.Time) { // one is the answer to the request before
		c.load(caughtUp)
	}
}

// fail notes an error of the store.
func (c *recall) fail(err error) {
	c.log.Warn("earlier moments are not recalled", "error", err)
	if errors.Is(err, context.DeadlineExceeded) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.slow = time.Now()
	}
}

// rests reports whether the store did not answer in time a short while ago.
func (c *recall) rests() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.slow.IsZero() && time.Since(c.slow) < storeRest
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
		c.fail(err)
		return
	}
	c.state.Take(turns)
}
