package live

import (
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/proxy"
)

// The cache of an hour, where it is left to the proxy to ask for it, beside
// that of five minutes, on recorded sessions at their own times. The upstream
// bills as the provider's documentation says, tools and system text too.
func TestLiveLongerCache(t *testing.T) {
	if !*all {
		t.Skip("with -all")
	}
	for _, policy := range []history.Policy{history.Lossless, history.Adaptive} {
		t.Run(string(policy), func(t *testing.T) {
			var off, five, auto float64
			played, asked, dearer := 0, 0, 0
			for _, s := range recorded(t) {
				requests := requests(s)
				if len(requests) == 0 {
					continue
				}
				cost := func(policy history.Policy, longer bool) float64 {
					up := newUpstream(s)
					up.ages = true
					synctest.Test(t, func(t *testing.T) {
						by(t, up, proxy.Config{History: history.Config{Policy: policy, Root: s.Dir}, LongerCache: longer}, requests)
					})
					return up.cost
				}
				without, plain, with := cost(history.Off, false), cost(policy, false), cost(policy, true)
				off, five, auto, played = off+without, five+plain, auto+with, played+1
				if with != plain {
					asked++
					t.Logf("%s: %d requests: %+.2f %% of off, %+.2f %% without the hour", filepath.Base(s.File), len(requests), 100*(with/without-1), 100*(plain/without-1))
				}
				if with > plain {
					dearer++
				}
				if with > without*(1+1e-9) {
					t.Errorf("%s costs %.0f instead of %.0f", s.File, with, without)
				}
			}
			t.Logf("%d sessions, an hour in %d, %d of them dearer than with five minutes: %+.2f %%, and %+.2f %% without it",
				played, asked, dearer, 100*(auto/off-1), 100*(five/off-1))
		})
	}
}
