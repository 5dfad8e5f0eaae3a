package replay

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stet-dev/stet/prices"
	"github.com/stet-dev/stet/tokens"
	"github.com/stet-dev/stet/transcript"
)

// BenchConfig sets a bench up. History of the Config is not used: every policy
// brings its own.
type BenchConfig struct {
	Config
	Policies []Policy                 // beside off, which all are measured by
	Stratum  func(file string) string // of a session file; nil or "": none
	Progress func(Progress)           // called after every file, by one goroutine at a time; may be nil
	Workers  int                      // sessions replayed at a time; 0 is one a processor
}

// played is one session under all policies.
type played struct {
	file, format, stratum string
	requests              int
	outcomes              []outcome // off, then the policies
	reported              []outcome // the same by the sizes that were reported; nil: few were
	cache                 CacheCheck
	own                   string // the name of the rule of its own cache
	damage                string // what of it could not be read
}

// RunBench replays the sessions in paths (as Savings does) under every policy.
// The error is the configuration's or the context's.
func RunBench(ctx context.Context, paths []string, c BenchConfig) (*Bench, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	policies := append([]Policy{{Name: "off"}}, c.Policies...)
	var all []*played
	var skipped []Skip
	jobs := make(chan func())
	var workers sync.WaitGroup
	for range cmp.Or(c.Workers, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for job := range jobs {
				job()
			}
		})
	}
	var done Progress
	var requests atomic.Int64
	sizes := newCounting()
	err := c.Open.Walk(paths, func(path string, sessions []*transcript.Session, err error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err != nil {
			skipped = append(skipped, Skip{path, reason(path, err), !transcript.Skipped(err)})
		}
		for _, s := range sessions {
			p := &played{file: path, format: s.Format, damage: damage(s.Damaged)}
			if c.Stratum != nil {
				p.stratum = c.Stratum(path)
			}
			sizes.add(s)
			all = append(all, p)
			jobs <- func() {
				p.play(ctx, s, policies, &c.Config)
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
			skipped = append(skipped, Skip{File: p.file, Reason: "no request: nothing in it was answered"})
		}
		return p.requests == 0
	})
	b := &Bench{Skipped: skipped, Counting: sizes.summary()}
	b.fill(all, policies, append(slices.Clip(c.rules()), prices.Rule{Name: OwnRule}))
	return b, nil
}

// play replays one session under all policies.
func (p *played) play(ctx context.Context, s *transcript.Session, policies []Policy, c *Config) {
	rec := newRecording(s, c)
	if p.requests = len(rec.requests); p.requests == 0 {
		return
	}
	own := rec.ownRule(c.rules()[0])
	p.own, own.Name = own.Name, OwnRule
	rules := append(slices.Clip(c.rules()), own)
	p.outcomes = rec.under(ctx, policies, rules)
	if rec.reported() {
		p.cache = rec.checkCache()
		p.reported = rec.under(ctx, policies, rules)
	}
}

// under replays the session under each policy; nothing comes of it where the
// context ends.
func (r *recording) under(ctx context.Context, policies []Policy, rules []prices.Rule) []outcome {
	var out []outcome
	for i := range policies {
		o, err := r.all(ctx, &policies[i], rules)
		if err != nil {
			return nil
		}
		out = append(out, o)
	}
	return out
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
	for _, size := range Sizes(s, &c.counter, c.models) {
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
