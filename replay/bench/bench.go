// Package bench compares policies on recorded sessions: our own ([Ours]), those of
// other tools by their documented rules (rules.go), and bounds (bounds.go). It is what
// `stet bench` runs. Package replay sends and prices the requests.
//
// [Run] replays every session under every policy (bench.go), and adds the outcomes
// up by group (figures.go). Where the provider reported sizes, it also replays by
// these, and says how well the simulated caches predict the recorded
// ones (cachecheck.go).
package bench

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stet-dev/stet/prices"
	"github.com/stet-dev/stet/replay"
	"github.com/stet-dev/stet/tokens"
	"github.com/stet-dev/stet/transcript"
)

// Config sets a bench up. History of replay.Config is not used: every policy
// brings its own.
type Config struct {
	replay.Config
	Policies []Policy                 // beside off, which all are measured by
	Stratum  func(file string) string // of a session file; nil or "": none
	Progress func(replay.Progress)    // called after every file, by one goroutine at a time; may be nil
	Workers  int                      // sessions replayed at a time; 0 is one a processor
}

// played is one session under all policies.
type played struct {
	file, format, stratum string
	requests              int
	outcomes              []replay.Outcome // off, then the policies
	reported              []replay.Outcome // the same by the sizes that were reported; nil: few were
	cache                 CacheCheck
	own                   string // the name of the rule of its own cache
	damage                string // what of it could not be read
}

// Run replays the sessions in paths (as Savings does) under every policy.
// The error is the configuration's or the context's.
func Run(ctx context.Context, paths []string, c Config) (*Bench, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	policies := append([]Policy{{Name: "off"}}, c.Policies...)
	var all []*played
	var skipped []replay.Skip
	jobs := make(chan func())
	var workers sync.WaitGroup
	for range cmp.Or(c.Workers, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for job := range jobs {
				job()
			}
		})
	}
	var done replay.Progress
	var requests atomic.Int64
	sizes := newCounting()
	err := c.Open.Walk(paths, func(path string, sessions []*transcript.Session, err error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err != nil {
			skipped = append(skipped, replay.NewSkip(path, err))
		}
		for _, s := range sessions {
			p := &played{file: path, format: s.Format, damage: replay.DamageNote(s)}
			if c.Stratum != nil {
				p.stratum = c.Stratum(path)
			}
			sizes.add(s)
			all = append(all, p)
			jobs <- func() {
				p.play(ctx, replay.New(s, &c.Config), policies, c.ExactCache)
				requests.Add(int64(p.requests))
			}
		}
		done.File, done.Files, done.Sessions = path, done.Files+1, len(all)
		done.Requests = int(requests.Load())
		if c.Progress != nil {
			c.Progress(done)
		}
		return nil
	})
	close(jobs)
	workers.Wait()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(p *played) bool {
		if p.requests == 0 {
			skipped = append(skipped, replay.NoRequest(p.file))
		}
		return p.requests == 0
	})
	b := &Bench{Skipped: skipped, Counting: sizes.summary()}
	b.fill(all, policies, append(replay.Rules(), namedRule(OwnRule), namedRule(RecordedRule)))
	return b, nil
}

// play replays one session under all policies.
func (p *played) play(ctx context.Context, r *replay.Replay, policies []Policy, exact bool) {
	if p.requests = len(r.Requests); p.requests == 0 {
		return
	}
	own := r.OwnRule(prices.Rules()[0])
	p.own, own.Name = own.Name, OwnRule
	recorded := replay.Rule{Rule: own, Recorded: true}
	recorded.Name = RecordedRule
	rules := append(replay.Rules(), replay.Rule{Rule: own}, recorded)
	measures := []replay.Measure{r.Measure}
	if m, ok := r.Reported(); ok {
		measures = append(measures, m)
	}
	all := under(ctx, r, policies, rules, exact, measures)
	if p.outcomes = all[0]; len(measures) > 1 {
		p.reported = all[1]
		r.Measure = measures[1]
		p.cache = checkCache(r)
	}
}

// under sends the session through each policy. It returns the outcomes of all policies for each measure; nil where the
// context ends.
func under(ctx context.Context, r *replay.Replay, policies []Policy, rules []replay.Rule, exact bool, measures []replay.Measure) [][]replay.Outcome {
	out := make([][]replay.Outcome, len(measures))
	counted := r.Measure
	for _, p := range policies {
		each, err := p.under(ctx, r, rules, exact, measures)
		r.Measure = counted
		if err != nil {
			return make([][]replay.Outcome, len(measures))
		}
		for n, o := range each {
			out[n] = append(out[n], o)
		}
	}
	return out
}

// under sends the session through the policy, and returns the outcome for each measure. It changes r's measure.
func (p *Policy) under(ctx context.Context, r *replay.Replay, rules []replay.Rule, exact bool, measures []replay.Measure) (out []replay.Outcome, err error) {
	if p.bound == nil && !p.WholeSize {
		return r.UnderEach(ctx, p.Begin, rules, measures...)
	}
	for _, m := range measures {
		r.Measure = m
		var o replay.Outcome
		if p.bound != nil {
			o, err = bounded(ctx, r, p.bound(r), rules, exact)
		} else {
			o, err = r.Under(ctx, p.Begin, rules)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// counting follows how far the size expected of a request is from the one
// reported, with a calibration per model.
type counting struct {
	counter tokens.Memo
	models  map[string]*tokens.Calibration
	errs    []float64
}

func newCounting() *counting {
	return &counting{models: make(map[string]*tokens.Calibration)}
}

func (c *counting) add(s *transcript.Session) {
	for _, size := range replay.Sizes(s, &c.counter, c.models) {
		if off, ok := size.Off(); ok && size.Follows {
			c.errs = append(c.errs, off)
		}
	}
}

func (c *counting) summary() Counting {
	slices.Sort(c.errs)
	n := len(c.errs)
	if n == 0 {
		return Counting{}
	}
	return Counting{Requests: n, Median: c.errs[n/2], P90: c.errs[n*9/10]}
}
