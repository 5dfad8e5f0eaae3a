package live

import (
	"context"
	"math"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/test/replaytest"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/replay"
)

// The proxy leaves out what the bench says: in sessions of Claude Code at their own times, the text of all requests is shorter by as much,
// to one per cent of what the bench leaves out. Thinking is not in the requests, since recordings do not have all of it.
func TestLiveLikeReplay(t *testing.T) {
	alone := func(string) (prices.Model, bool) { return prices.Lookup(models[0]) }
	compared, live, benched := 0, 0, 0
	for _, s := range recorded(t) {
		asked := requests(s)
		if s.Product != "Claude Code" || len(asked) < 10 || compared == 10 {
			continue
		}
		plain := newUpstream(s)
		var with *upstream
		synctest.Test(t, func(t *testing.T) {
			play(t, asked, plain, func(body []byte) {
				if _, err := plain.bill(body); err != nil {
					t.Error(err)
				}
			})
		})
		synctest.Test(t, func(t *testing.T) { with = through(t, s, trim.Adaptive, asked) })
		policy, err := replay.Ours(trim.Config{Policy: trim.Adaptive})
		if err != nil {
			t.Fatal(err)
		}
		r := replay.New(s, &replay.Config{Counter: replaytest.Bytes{}, Models: alone})
		rules := []replay.Rule{{Rule: prices.Rules()[0]}}
		off, err := r.Under(context.Background(), nil, rules)
		if err != nil {
			t.Fatal(err)
		}
		left, err := r.Under(context.Background(), policy, rules)
		if err != nil {
			t.Fatal(err)
		}
		one, other := plain.text-with.text, int(off.Tokens-left.Tokens)
		t.Logf("%s: %d requests: %d bytes left out live, %d in the bench", filepath.Base(s.File), len(asked), one, other)
		compared, live, benched = compared+1, live+one, benched+other
	}
	if diff := math.Abs(float64(live-benched)) / float64(max(1, benched)); diff > 0.01 {
		t.Errorf("%d sessions: %d bytes left out live, %d in the bench: %.1f %% off", compared, live, benched, 100*diff)
	}
	t.Logf("%d sessions: %d bytes left out live, %d in the bench", compared, live, benched)
}
