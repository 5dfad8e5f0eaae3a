// Package bench compares policies on recorded sessions: our own ([Ours]), and those
// that a caller brings: the module bench has the rules of other tools, and bounds. It is what `stet bench` runs. Package replay sends and prices the requests.
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

	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/trim/replay"
	"github.com/stet-dev/stet/trim/transcript"
)

// Config sets a bench up. History of replay.Config is not used: every policy
// brings its own.
type Config struct {
	replay.Config
	Policies []Policy                // in addition to off, which all are measured by
	About    func(file string) About // a session file; may be nil
	Progress func(replay.Progress)   // called after every file, by one goroutine at a time; may be nil
	Workers  int                     // sessions replayed at a time; 0 is one a processor
}

// About is what an index says of a session.
type About struct {
	Stratum    string // how it was chosen
	Repository string // that it is from
}

// played is one session under all policies.
type played struct {
	file, format string
	product      string // the agent that recorded it
	about        About
	requests     int
	free         regime // nothing checks what is before thinking
	bound        regime // the provider checks that
	answers      float64
	head         int // tokens of tools and system text, as they were reported
	cache        CacheCheck
	own          string // the name of the rule of its own cache
	damage       string // what of it could not be read
}

// regime is a session under all policies, off first. Those that do not run in it have no requests.
type regime struct {
	counted  []replay.Outcome
	reported []replay.Outcome // by the sizes that were reported; nil: few were
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
	sizes := &counting{models: make(map[string]*tokens.Calibration)}
	err := c.Open.Walk(paths, func(path string, sessions []*transcript.Session, err error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err != nil {
			skipped = append(skipped, replay.NewSkip(path, err))
		}
		for _, s := range sessions {
			p := &played{file: path, format: s.Format, product: s.Product, damage: replay.DamageNote(s)}
			if c.About != nil {
				p.about = c.About(path)
			}
			sizes.add(s)
			all = append(all, p)
			jobs <- func() {
				p.play(ctx, replay.New(s, &c.Config), policies)
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
func (p *played) play(ctx context.Context, r *replay.Replay, policies []Policy) {
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
	var checked []Policy
	for _, policy := range policies[1:] {
		checked = append(checked, policy.whereChecked())
	}
	p.answers = r.AnswerCost()
	off := under(ctx, r, policies[:1], rules, measures)
	p.free = off.and(under(ctx, r, policies[1:], rules, measures))
	p.bound = off.and(under(ctx, r, checked, rules, measures))
	if len(measures) > 1 {
		r.Measure = measures[1]
		p.head, p.cache = r.Fixed, checkCache(r)
	}
}

// and returns the outcomes of r and o, in this order.
func (r regime) and(o regime) regime {
	return regime{slices.Concat(r.counted, o.counted), slices.Concat(r.reported, o.reported)}
}

// under sends the session through each policy. It returns nothing where the context ends.
func under(ctx context.Context, r *replay.Replay, policies []Policy, rules []replay.Rule, measures []replay.Measure) (out regime) {
	counted := r.Measure
	for _, p := range policies {
		each, err := p.under(ctx, r, rules, measures)
		r.Measure = counted
		if err != nil {
			return regime{}
		}
		if out.counted = append(out.counted, each[0]); len(each) > 1 {
			out.reported = append(out.reported, each[1])
		}
	}
	return out
}

// under sends the session through the policy, and returns the outcome for each measure. It changes r's measure.
func (p *Policy) under(ctx context.Context, r *replay.Replay, rules []replay.Rule, measures []replay.Measure) (out []replay.Outcome, err error) {
	if p.idle {
		return make([]replay.Outcome, len(measures)), nil
	}
	if p.Play == nil {
		return r.UnderEach(ctx, p.Begin, rules, measures...)
	}
	for _, m := range measures {
		r.Measure = m
		o, err := p.Play(ctx, r, rules)
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
