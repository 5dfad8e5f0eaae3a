package replay

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/test/replaytest"
	"github.com/stet-dev/stet/test/replaytest/pointers"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/replay/check"
	"github.com/stet-dev/stet/trim/transcript"
)

var (
	stratum = flag.String("stratum", "representative", "which recorded sessions the figures are taken from; empty is all")
	shell   = flag.Bool("shell", true, "keep-latest also leaves out old outputs of commands")
)

// recordings returns the files of the recorded sessions, or skips the test.
func recordings(tb testing.TB) []string {
	root := os.Getenv("STET_TRANSCRIPTS")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared", "transcripts")
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
	files = slices.Compact(files) // a file with several sessions is listed several times
	var some []string
	for i := 0; i < len(files); i += replaytest.Sample {
		some = append(some, files[i])
	}
	return some
}

// recorded reads the sessions once for all tests, or skips the test.
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
			err = transcript.Opener{}.Walk(files, func(_ string, sessions []*transcript.Session, _ error) error {
				all = append(all, sessions...)
				return nil
			})
		})
		return all, err
	}
}()

type replayed struct {
	file string
	off  Outcome
	Outcome
}

// replayOne replays a session under every price rule, and with the cache that the recording shows.
func replayOne(tb testing.TB, s *transcript.Session, c trim.Config) replayed {
	r := New(s, &Config{Pointers: pointers.Of})
	policy, err := Ours(c)
	if err != nil {
		tb.Error(err)
	}
	lived := Rule{Rule: r.OwnRule(prices.Rules()[0]), Recorded: true}
	lived.Name = "recorded"
	rules := append(Rules(), lived)
	off, err := r.Under(context.Background(), nil, rules)
	if err != nil {
		tb.Error(err)
	}
	with, err := r.Under(context.Background(), policy, rules)
	if err != nil {
		tb.Error(err)
	}
	return replayed{filepath.Base(s.File), off, with}
}

// replayAll replays the recorded sessions that have a request, and prints the figures of a row of the design's table of policies.
func replayAll(tb testing.TB, c trim.Config) []replayed {
	var all []replayed
	total := Sums{CostOff: make(map[string]float64), Cost: make(map[string]float64)}
	peakOff, peak := 0, 0
	var edits check.Edits
	changed := 0
	sessions := recorded(tb)
	results := make([]replayed, len(sessions))
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				results[i] = replayOne(tb, sessions[i], c)
			}
		})
	}
	for i := range sessions {
		next <- i
	}
	close(next)
	workers.Wait()
	for _, r := range results {
		if r.Requests > 0 {
			all = append(all, r)
			total.Add(newSums(c.Policy, &r.off, &r.Outcome))
			peakOff, peak = max(peakOff, r.off.Peak), max(peak, r.Peak)
			edits.Supported += r.Edits.Supported
			edits.Split += r.Edits.Split
			edits.Lost += r.Edits.Lost
			changed += r.Changed
		}
	}
	tb.Logf("%s: %d sessions, %d requests, %.1f M tokens, C %+.2f %%, reads %d, repeats %d, dangling %d, peak %d of %d", c.Policy, len(all), total.Requests,
		float64(total.TokensOff)/1e6, 100*relative(float64(total.TokensOff), float64(total.Tokens)), total.Reads, total.Repeats, total.Dangling, peak, peakOff)
	tb.Logf("  edits: %d supported, %d split, %d lost; %d requests changed what was cached", edits.Supported, edits.Split, edits.Lost, changed)
	for _, rule := range prices.Rules() {
		var each []float64
		worst, file := -1000.0, ""
		for _, r := range all {
			d := 100 * relative(r.off.Cost[rule.Name], r.Cost[rule.Name])
			each = append(each, d)
			if d > worst {
				worst, file = d, r.file
			}
		}
		slices.Sort(each)
		tb.Logf("  %-13s %+.2f %%, median %+.2f, best %+.2f, worst %+.2f (%s)", rule.Name,
			100*relative(total.CostOff[rule.Name], total.Cost[rule.Name]), each[len(each)/2], each[0], worst, file)
	}
	return all
}

// TRIM-17: in every recorded session, lossless and adaptive are never dearer, under every price rule and with the cache that the
// recording shows. Nothing in a cache is changed, no pointer dangles, and no edit loses the text that it needs.
func TestRecordedNeverDearer(t *testing.T) {
	for _, p := range []trim.Policy{trim.Lossless, trim.Adaptive} {
		for _, r := range replayAll(t, trim.Config{Policy: p}) {
			if r.Tokens > r.off.Tokens {
				t.Errorf("%s: %s: %d tokens instead of %d", p, r.file, r.Tokens, r.off.Tokens)
			}
			if r.Changed != 0 {
				t.Errorf("%s: %s: %d of %d requests changed what was in the cache", p, r.file, r.Changed, r.Requests)
			}
			if r.Dangling != 0 {
				t.Errorf("%s: %s: %d dangling lines", p, r.file, r.Dangling) // TRIM-16
			}
			if r.Edits.Lost != 0 {
				t.Errorf("%s: %s: the text of %d edits is lost", p, r.file, r.Edits.Lost)
			}
			for name, cost := range r.Cost {
				if off := r.off.Cost[name]; cost > off*(1+1e-12) {
					t.Errorf("%s: %s: %s costs %.0f instead of %.0f", p, r.file, name, cost, off)
				}
			}
		}
	}
}

// Under bold no session becomes more than 2 % dearer, including the cost of what the agent would ask for again.
func TestRecordedBold(t *testing.T) {
	for _, c := range []trim.Config{
		{Policy: trim.Bold}, {Policy: trim.Bold, ChecksThinking: true, Clears: true},
	} {
		for _, r := range replayAll(t, c) {
			if r.Dangling != 0 {
				t.Errorf("%s: %d dangling lines", r.file, r.Dangling)
			}
			for name, cost := range r.Charged {
				if off := r.off.Cost[name]; cost > off*1.02 {
					t.Errorf("%s: checks thinking %v: %s costs %.0f instead of %.0f", r.file, c.ChecksThinking, name, cost, off)
				}
			}
		}
	}
}

// Under keep-latest no session has more tokens, but a session with a cache may become dearer. -shell=false counts only reads, as
// the design's table does.
func TestRecordedKeepLatest(t *testing.T) {
	c := trim.Config{Policy: trim.KeepLatest}
	if !*shell {
		c.KeepShell = -1
	}
	for _, r := range replayAll(t, c) {
		if r.Tokens > r.off.Tokens || r.Cost[prices.None] > r.off.Cost[prices.None] {
			t.Errorf("%s: %d tokens instead of %d", r.file, r.Tokens, r.off.Tokens)
		}
	}
}

// CTX-1: the median difference between the expected size of a request and the size that the provider reported is at most 2 %, with a
// calibration for each model. The test also prints the error.
func TestRecordedSizes(t *testing.T) {
	models := make(map[string]*tokens.Calibration)
	var all, first []float64
	for _, s := range recorded(t) {
		for _, size := range Sizes(s, new(tokens.Memo), models) {
			if off, ok := size.Off(); ok && size.Follows {
				all = append(all, off)
			} else if ok {
				first = append(first, off)
			}
		}
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

func BenchmarkRecorded(b *testing.B) {
	for _, p := range []trim.Policy{trim.Lossless, trim.KeepLatest} {
		b.Run(string(p), func(b *testing.B) {
			sessions := recorded(b)
			requests := 0
			for b.Loop() {
				requests = 0
				for _, s := range sessions {
					_, r, err := Session(context.Background(), s, Config{History: trim.Config{Policy: p}})
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

// relative returns with/off − 1.
func relative(off, with float64) float64 { return with/max(off, 1) - 1 }
