package proxy

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stet-dev/stet/record"
)

// silentTurns is a store whose turns cannot be read in time.
type silentTurns struct {
	record.Store
	reads *int
}

func (s silentTurns) Turns(ctx context.Context, _ int) ([]record.Turn, error) {
	*s.reads++
	<-ctx.Done()
	return nil, ctx.Err()
}

func (s silentTurns) TurnsAt(ctx context.Context, _ []uint64) ([]record.Turn, error) {
	return s.Turns(ctx, 0)
}

// Not each request waits for a store that does not answer.
func TestRecallRests(t *testing.T) {
	strictly(t, func(s *strict) {
		s.rush = true
		p, reads := s.proxy(), 0
		p.recall.begin()
		p.recall.store = silentTurns{s.store, &reads}
		unknown := func() { // a conversation whose answers this process does not know
			a := s.session("claude-sonnet-4-5")
			a.messages[0] = fmt.Sprintf(`{"role":"user","content":"go on with %d"}`, rand.Uint64())
			a.rounds(3, s.model)
			a.rounds(1, p)
		}
		begin := time.Now()
		for range 6 {
			unknown()
		}
		if waited := time.Since(begin); reads != 1 || waited > 2*maxRecall {
			t.Errorf("six requests waited %v, for %d loads", waited, reads)
		}
		time.Sleep(2 * storeRest)
		if unknown(); reads != 2 {
			t.Errorf("%d loads after a rest", reads)
		}
	})
}
