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
	var five, auto float64
	played, asked, dearer := 0, 0, 0
	for _, s := range recorded(t) {
		requests := requests(s)
		if len(requests) == 0 {
			continue
		}
		cost := func(longer bool) float64 {
			up := newUpstream(s)
			up.ages = true
			synctest.Test(t, func(t *testing.T) {
				by(t, up, proxy.Config{History: history.Config{Policy: history.Off, Root: s.Dir}, LongerCache: longer}, requests)
			})
			return up.cost
		}
		off, with := cost(false), cost(true)
		five, auto, played = five+off, auto+with, played+1
		if with != off {
			asked++
			t.Logf("%s: %d requests: %+.2f %%", filepath.Base(s.File), len(requests), 100*(with/off-1))
		}
		if with > off {
			dearer++
		}
	}
	if auto > five {
		t.Errorf("all sessions together cost %.0f instead of %.0f", auto, five)
	}
	t.Logf("%d sessions, an hour in %d, %d dearer: %+.2f %%", played, asked, dearer, 100*(auto/five-1))
}
