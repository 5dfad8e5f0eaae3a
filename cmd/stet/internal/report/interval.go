package report

import (
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	resamples = 1000
	fewest    = 20  // conversations that a group needs
	level     = 950 // of 1,000: 95 %
	maxUnits  = 1 << 14
)

// sums is what conversations have in common, added up.
type sums struct {
	conversations, requests, priced, unpriced, output, errors int
	usd                                                       float64
}

func (s *sums) add(o sums) {
	s.conversations += o.conversations
	s.requests += o.requests
	s.priced += o.priced
	s.unpriced += o.unpriced
	s.output += o.output
	s.errors += o.errors
	s.usd += o.usd
}

// units are the sums of conversations, by a hash of their names. With more than maxUnits of them, several that chance put together are
// one: a sum over conversations that are independent is as good a unit, and memory and time have a limit.
type units struct {
	by   map[uint64]*sums
	seen map[uint64]bool // the conversations, if they are not the keys of by
}

func hashed(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash never fails
	return h.Sum64()
}

// add adds a request of a conversation.
func (u *units) add(name uint64, now sums) {
	key := name
	if u.seen != nil {
		key %= maxUnits / 2
		if !u.seen[name] {
			u.seen[name], now.conversations = true, 1
		}
	}
	s := u.by[key]
	if s == nil {
		if u.by == nil {
			u.by = map[uint64]*sums{}
		}
		if u.seen == nil {
			now.conversations = 1
		}
		s = &sums{}
		u.by[key] = s
	}
	if s.add(now); u.seen != nil || len(u.by) <= maxUnits {
		return
	}
	conversations := u.by
	u.by, u.seen = map[uint64]*sums{}, map[uint64]bool{}
	for name, s := range conversations {
		u.seen[name] = true
		u.add(name, *s)
	}
}

// all returns the sums, in the same order each time.
func (u *units) all() (all []sums) {
	for _, key := range slices.Sorted(maps.Keys(u.by)) {
		all = append(all, *u.by[key])
	}
	return all
}

// Difference compares the two groups of a holdout in one figure.
type Difference struct {
	What    string  `json:"what"`
	Treated float64 `json:"treated"`
	HeldOut float64 `json:"held_out"`
	// Change is Treated / HeldOut - 1, and for errors Treated - HeldOut. Low and High bound it with 95 % by a symmetric studentized
	// bootstrap over conversations: where a few conversations cost most of the sum, an interval with equal tails is too narrow. All three
	// are 0 if there are too few conversations.
	Change float64 `json:"change"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	// Distinguishable means that there are enough conversations, and the interval does not hold 0.
	Distinguishable bool `json:"distinguishable"`
}

// figures are what is compared: quotients of sums over conversations, each conversation's part of the one and of the other. If absolute is
// set, groups are compared by the difference and not by the quotient.
var figures = [...]struct {
	what     string
	of       func(*sums) (y, x float64)
	absolute bool
}{
	{"requests of a conversation", func(s *sums) (y, x float64) { return float64(s.requests), float64(s.conversations) }, false},
	{"output tokens of a conversation", func(s *sums) (y, x float64) { return float64(s.output), float64(s.conversations) }, false},
	{"cost of a request", func(s *sums) (y, x float64) { return s.usd, float64(s.priced) }, false},
	{theErrors, func(s *sums) (y, x float64) { return 100 * float64(s.errors), float64(s.requests) }, true},
}

const theErrors = "errors in 100 requests"

// moments are the sums over conversations by which a quotient and its error are estimated.
type moments struct{ y, x, yy, xy, xx float64 }

// part is a conversation's part of each figure.
type part [len(figures)]moments

func partsOf(all []sums) []part {
	out := make([]part, len(all))
	for i := range all {
		for k := range figures {
			y, x := figures[k].of(&all[i])
			out[i][k] = moments{y, x, y * y, x * y, x * x}
		}
	}
	return out
}

func (m *moments) add(o *moments) {
	m.y += o.y
	m.x += o.x
	m.yy += o.yy
	m.xy += o.xy
	m.xx += o.xx
}

// quotient returns the quotient of the sums, and the variance of its estimate.
func (m *moments) quotient() (r, variance float64) {
	if m.x == 0 {
		return 0, 0
	}
	r = m.y / m.x
	return r, max(0, m.yy-2*r*m.xy+r*r*m.xx) / (m.x * m.x)
}

// compare returns how two groups differ, as a logarithm if the figure is compared by the quotient, and the standard error. It is
// false if there is nothing to compare with.
func compare(a, b *moments, absolute bool) (difference, sigma float64, ok bool) {
	r, v := a.quotient()
	q, w := b.quotient()
	switch {
	case absolute:
		return r - q, math.Sqrt(v + w), true
	case r <= 0 || q <= 0:
		return 0, 0, false
	}
	return math.Log(r / q), math.Sqrt(v/(r*r) + w/(q*q)), true
}

// differences compares groups of conversations. The result is the same for the same groups.
func differences(treated, held []sums) []Difference {
	random := rand.New(rand.NewPCG(1, 2))
	a, b := partsOf(treated), partsOf(held)
	x, y := whole(a), whole(b)
	var spread [len(figures)][]float64 // how far resamples are from the real difference, in standard errors
	if min(len(treated), len(held)) >= fewest {
		for range resamples {
			u, v := again(random, a), again(random, b)
			for k := range figures {
				real, _, _ := compare(&x[k], &y[k], figures[k].absolute)
				d, sigma, ok := compare(&u[k], &v[k], figures[k].absolute)
				switch {
				case !ok:
				case sigma == 0:
					spread[k] = append(spread[k], 0)
				default:
					spread[k] = append(spread[k], math.Abs(d-real)/sigma)
				}
			}
		}
	}
	out := make([]Difference, len(figures))
	for k, f := range figures {
		d := Difference{What: f.what}
		d.Treated, _ = x[k].quotient()
		d.HeldOut, _ = y[k].quotient()
		real, sigma, ok := compare(&x[k], &y[k], f.absolute)
		if t := spread[k]; ok && len(t) == resamples {
			slices.Sort(t)
			few := 1 + 1.21/float64(min(len(treated), len(held))-1) // Student's factor at 95 % for the smaller group
			margin := t[level] * sigma * few
			d.Change, d.Low, d.High = real, real-margin, real+margin
			d.Distinguishable = d.Low > 0 || d.High < 0
			if !f.absolute {
				d.Change, d.Low, d.High = math.Expm1(d.Change), math.Expm1(d.Low), math.Expm1(d.High)
			}
		}
		out[k] = d
	}
	return out
}

func whole(all []part) (sum part) {
	for i := range all {
		sum.add(&all[i])
	}
	return sum
}

func (p *part) add(o *part) {
	for k := range p {
		p[k].add(&o[k])
	}
}

// again draws as many conversations as there are, each with the same chance, and adds them up.
func again(random *rand.Rand, all []part) (sum part) {
	for range all {
		sum.add(&all[random.IntN(len(all))])
	}
	return sum
}
