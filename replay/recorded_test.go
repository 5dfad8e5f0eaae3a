package replay

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/prices"
	"github.com/stet-dev/stet/tokens"
	"github.com/stet-dev/stet/transcript"
)

var (
	stratum = flag.String("stratum", "representative", "which recorded sessions the figures are taken from; empty is all")
	shell   = flag.Bool("shell", true, "keep-latest also leaves out old outputs of commands")
)

// recordings returns the recorded sessions' files, or skips.
func recordings(tb testing.TB) []string {
	root := os.Getenv("STET_TRANSCRIPTS")
	if root == "" {
		root = filepath.Join("..", "..", "shared", "transcripts")
	}
	data, err := os.ReadFile(filepath.Join(root, "index.json"))
	if err != nil {
		tb.Skip("no recorded sessions at " + root)
	}
	var index []struct{ File, Stratum string }
	if err := json.Unmarshal(data, &index); err != nil {
		tb.Fatal(err)
	}
	var files []string
	for _, e := range index {
		if *stratum == "" || e.Stratum == *stratum {
			files = append(files, filepath.Join(root, e.File))
		}
	}
	slices.Sort(files)
	return slices.Compact(files) // a file of several sessions is listed several times
}

// recorded reads the sessions once for all tests; or skips.
func recorded(tb testing.TB) []*transcript.Session {
	files := recordings(tb)
	all, err := readRecorded(files)
	if err != nil {
		tb.Fatal(err)
	}
	if len(all) == 0 {
		tb.Fatal("no session could be read")
	}
	return all
}

var readRecorded = func() func(files []string) ([]*transcript.Session, error) {
	var once sync.Once
	var all []*transcript.Session
	var err error
	return func(files []string) ([]*transcript.Session, error) {
		once.Do(func() {
			err = transcript.Walk(files, func(_ string, sessions []*transcript.Session, _ error) error {
				all = append(all, sessions...)
				return nil
			})
		})
		return all, err
	}
}()

type replayed struct {
	file string
	Result
}

// replayAll replays the recorded sessions that have a request, and prints what
// the design's table of measured policies holds.
func replayAll(tb testing.TB, c history.Config) []replayed {
	var all []replayed
	total := Sums{CostOff: make(map[string]float64), Cost: make(map[string]float64)}
	peakOff, peak := 0, 0
	for _, s := range recorded(tb) {
		r, err := Session(context.Background(), s, Config{History: c})
		if err != nil {
			tb.Fatal(err)
		}
		if r.Requests > 0 {
			all = append(all, replayed{filepath.Base(s.File), r})
			total.add(r.sums())
			peakOff, peak = max(peakOff, r.PeakOff), max(peak, r.Peak)
		}
	}
	tb.Logf("%s: %d sessions, %d requests, %.1f M tokens, C %+.2f %%, reads %d, repeats %d, dangling %d, peak %d of %d", c.Policy, len(all), total.Requests,
		float64(total.TokensOff)/1e6, 0-Saved(float64(total.TokensOff), float64(total.Tokens)), total.Reads, total.Repeats, total.Dangling, peak, peakOff)
	for _, rule := range prices.Rules() {
		var each []float64
		worst, file := -1000.0, ""
		for _, r := range all {
			d := 0 - Saved(r.CostOff[rule.Name], r.Cost[rule.Name])
			each = append(each, d)
			if d > worst {
				worst, file = d, r.file
			}
		}
		slices.Sort(each)
		tb.Logf("  %-13s %+.2f %%, median %+.2f, best %+.2f, worst %+.2f (%s)", rule.Name,
			0-Saved(total.CostOff[rule.Name], total.Cost[rule.Name]), each[len(each)/2], each[0], worst, file)
	}
	return all
}

// TRIM-17: lossless is never dearer, in no recorded session and under no price
// model; a prefix sent once is sent the same way again.
func TestRecordedLossless(t *testing.T) {
	for _, r := range replayAll(t, history.Config{Policy: history.Lossless}) {
		if r.Tokens > r.TokensOff {
			t.Errorf("%s: %d tokens instead of %d", r.file, r.Tokens, r.TokensOff)
		}
		if r.Changed != 0 {
			t.Errorf("%s: %d of %d requests changed what was sent", r.file, r.Changed, r.Requests)
		}
		if r.Dangling != 0 {
			t.Errorf("%s: %d dangling lines", r.file, r.Dangling) // TRIM-16
		}
		for name, cost := range r.Cost {
			if off := r.CostOff[name]; cost > off*(1+1e-12) {
				t.Errorf("%s: %s costs %.0f instead of %.0f", r.file, name, cost, off)
			}
		}
	}
}

// The rule of keep-latest leaves tokens out of every session or none, and
// pays for it under a cache; -shell=false counts reads alone, as the design's
// table does.
func TestRecordedKeepLatest(t *testing.T) {
	c := history.Config{Policy: history.KeepLatest}
	if !*shell {
		c.KeepShell = -1
	}
	for _, r := range replayAll(t, c) {
		if r.Tokens > r.TokensOff || r.Cost[prices.None] > r.CostOff[prices.None] {
			t.Errorf("%s: %d tokens instead of %d", r.file, r.Tokens, r.TokensOff)
		}
	}
}

// How far the size expected of a request is from what the provider then
// reported, with a calibration per model (CTX-1). Prints the error.
func TestRecordedSizes(t *testing.T) {
	models := make(map[string]*tokens.Calibration)
	var all, first []float64
	for _, s := range recorded(t) {
		a, f := sizes(s, models)
		all, first = append(all, a...), append(first, f...)
	}
	if len(all) == 0 {
		t.Skip("no recording carries usage")
	}
	for name, errs := range map[string][]float64{"following": all, "first of a context": first} {
		slices.Sort(errs)
		if len(errs) > 0 {
			t.Logf("%s: %d requests, size off by %.2f %% (median), %.2f %% (p90)", name, len(errs), 100*errs[len(errs)/2], 100*errs[len(errs)*9/10])
		}
	}
	if median := all[len(all)/2]; median > 0.02 {
		t.Errorf("the median error of a size is %.1f %%", 100*median)
	}
}

func sizes(s *transcript.Session, models map[string]*tokens.Calibration) (following, first []float64) {
	var m tokens.Meter
	estimate, last := 0, ""
	next := 0
	var counter tokens.Memo
	for i := range s.Messages {
		msg := &s.Messages[i]
		if next < len(s.Starts) && s.Starts[next] == i {
			next++
			estimate, last = 0, ""
		}
		if msg.Role == llm.Assistant && msg.Usage != nil && msg.Usage.Prompt() > 0 && !slices.Contains(s.Carried, i) {
			known := msg.Model == last
			if !known {
				if models[msg.Model] == nil {
					models[msg.Model] = new(tokens.Calibration)
				}
				m, last = tokens.Meter{Calibration: models[msg.Model]}, msg.Model
			}
			real := msg.Usage.Prompt()
			off := float64(m.Size(estimate)-real) / float64(real)
			if off < 0 {
				off = -off
			}
			if known {
				following = append(following, off)
			} else {
				first = append(first, off)
			}
			m.Observe(estimate, real)
		}
		estimate += tokens.CountMessage(msg, &counter)
	}
	return following, first
}

func BenchmarkRecorded(b *testing.B) {
	for _, p := range []history.Policy{history.Lossless, history.KeepLatest} {
		b.Run(string(p), func(b *testing.B) {
			sessions := recorded(b)
			requests := 0
			for b.Loop() {
				requests = 0
				for _, s := range sessions {
					r, err := Session(context.Background(), s, Config{History: history.Config{Policy: p}})
					if err != nil {
						b.Fatal(err)
					}
					requests += r.Requests
				}
			}
			b.ReportMetric(float64(requests), "requests/op")
		})
	}
}
