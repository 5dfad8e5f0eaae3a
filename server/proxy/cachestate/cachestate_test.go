package cachestate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/trim"
)

// TRIM-17: the verdict about a request after a request at noon.
func TestJudge(t *testing.T) {
	const five = 5 * time.Minute
	hour := func(k talk) talk { k.lifetime = time.Hour; return k }
	for name, test := range map[string]struct {
		first, then talk
		after       time.Duration
		want        trim.Cause
		cache       Belief
	}{
		"within the lifetime": {
			talk{rounds: 9}, talk{rounds: 10}, time.Minute, "",
			Belief{Gap: time.Minute, Idle: time.Minute, Lifetime: five, Leaves: five},
		},
		"after it": {
			talk{rounds: 9}, talk{rounds: 10}, 6 * time.Minute, trim.Gap,
			Belief{Gap: 6 * time.Minute, Idle: 6 * time.Minute, Lifetime: five, Leaves: five, Cold: true, Certain: true},
		},
		"what was asked before counts": {
			hour(talk{rounds: 9}), talk{rounds: 10}, 50 * time.Minute, "",
			Belief{Gap: 50 * time.Minute, Idle: 50 * time.Minute, Lifetime: time.Hour, Leaves: time.Hour},
		},
		"a lifetime that is not vouched for": {
			talk{rounds: 9, unmarked: true}, talk{rounds: 10, unmarked: true}, 6 * time.Minute, "",
			Belief{Gap: 6 * time.Minute, Idle: 6 * time.Minute, Lifetime: five, Leaves: five},
		},
		"and more than an hour": {
			talk{rounds: 9, unmarked: true}, talk{rounds: 10, unmarked: true}, 61 * time.Minute, trim.Gap,
			Belief{Gap: 61 * time.Minute, Idle: 61 * time.Minute, Lifetime: five, Leaves: five, Cold: true, Certain: true},
		},
		"another model": {
			talk{rounds: 9}, talk{rounds: 10, model: "2"}, time.Minute, trim.Model,
			Belief{Gap: time.Minute, Lifetime: five, Leaves: five},
		},
		"other tools": {
			talk{rounds: 9}, talk{rounds: 10, tools: "2"}, time.Minute, trim.Tools,
			Belief{Gap: time.Minute, Lifetime: five, Leaves: five, Changed: PrefixChange{Tools: true}},
		},
		"another system text": {
			talk{rounds: 9}, talk{rounds: 10, system: "2"}, time.Minute, trim.Tools,
			Belief{Gap: time.Minute, Lifetime: five, Leaves: five, Changed: PrefixChange{System: true}},
		},
		"another conversation": {
			talk{rounds: 9}, talk{rounds: 10, begun: "else"}, time.Hour, "", Belief{Lifetime: five, Leaves: five},
		},
		"no answer yet": {talk{}, talk{begun: "else"}, time.Hour, "", Belief{Lifetime: five, Leaves: five}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newState()
			s.sends(test.first.at(noon), nil, record.Usage{})
			r := test.then.at(noon.Add(test.after))
			v := s.Judge(r)
			if diff := cmp.Diff(test.cache, v.Cache); diff != "" || v.New != test.want {
				t.Errorf("%q %s", v.New, diff)
			}
			// If nothing that was sent may be left out, there are no cold points.
			s.config.Evicts = false
			if v := s.Judge(r); v.New != "" {
				t.Errorf("%+v", v)
			}
		})
	}
}

// Where no lifetime is vouched for, a pause is a guess if the cache was once seen to go after one as long, and a gap after two.
func TestGuess(t *testing.T) {
	s := newState()
	ask := func(rounds int, after time.Duration) trim.Cause {
		r := talk{rounds: rounds, unmarked: true}.at(noon.Add(after))
		v := s.Judge(r)
		w := s.Commit(r, v, nil)
		usage := record.Usage{Input: 10, CacheWrite: 9_000}
		s.Settle(w, Answer{Time: r.Time, Usage: usage, Compared: w.Compare(r.Decoded), Price: trim.Price{Read: 0.1, Write: 1}, MinTokens: 1024})
		return v.New
	}
	got := []trim.Cause{ask(20, 0), ask(21, 12*time.Minute), ask(22, 24*time.Minute), ask(23, 35*time.Minute), ask(24, 48*time.Minute), ask(25, 3*time.Hour)}
	if diff := cmp.Diff([]trim.Cause{"", "", trim.Guess, "", trim.Gap, trim.Gap}, got); diff != "" {
		t.Error(diff)
	}
}

// A bound request is no cold point, unless the provider clears results itself.
func TestJudgeBound(t *testing.T) {
	s := newState()
	with := func(rounds int, after time.Duration) Request {
		return talk{rounds: rounds, model: "strict", thinking: true}.at(noon.Add(after))
	}
	s.sends(with(1, 0), nil, record.Usage{})
	later := with(2, time.Hour)
	if v := s.Judge(later); v.New != "" {
		t.Errorf("after a pause: %+v", v)
	}
	later.Leaves = true
	if cleared, _, _ := s.sends(later, nil, record.Usage{}); cleared.New != trim.Gap {
		t.Errorf("cleared: %+v", cleared)
	}
	next := with(3, 2*time.Hour)
	next.Key.Tools++
	if v := s.Judge(next); v.New != "" {
		t.Errorf("after it: %+v", v)
	}
	for model, want := range map[string]bool{strictModel: true, "m2": true, "m3": false} { // the first turns stay
		r := with(3, 0)
		if r.Key.Model = model; model == "m3" {
			r = talk{rounds: 3, begun: "else", model: "3"}.at(noon)
		}
		if got := s.Checks(&r); got != want {
			t.Errorf("%s: %t", model, got)
		}
	}
}

// If a request was judged cold but the cache was warm, and something had to be written again, that cost is charged to the
// conversation's account. There are no more cold points until the account is paid. The observed lifetime holds from then on.
func TestAccount(t *testing.T) {
	s := newState()
	usage := record.Usage{Input: 10, CacheRead: 5_000, CacheWrite: 4_000}
	k := func(rounds int, after time.Duration) Request { return talk{rounds: rounds}.at(noon.Add(after)) }
	s.sends(k(20, 0), planOf(3, "[another line]"), usage)
	r := k(21, 10*time.Minute)
	v := s.Judge(r)
	w := s.Commit(r, v, nil)
	compared := w.Compare(r.Decoded)
	turns, alive := s.Settle(w, Answer{Time: r.Time, Usage: usage, Compared: compared, Price: trim.Price{Read: 0.1, Write: 1.25}, MinTokens: 1024})
	if !alive || v.New != trim.Gap || compared.Broke != record.BrokeStet || compared.BrokeAt != 3 {
		t.Fatalf("alive %v, %+v, %+v", alive, v, compared)
	}
	if l := w.verdict.at.lineage; account(t, turns) >= 0 || l.lifetime != 10*time.Minute {
		t.Errorf("account %d, lifetime %v", l.account, l.lifetime)
	}
	if v, _, _ := s.sends(k(22, 3*time.Hour), nil, record.Usage{}); v.New != "" {
		t.Errorf("a cold point in debt: %+v", v)
	}
	w.verdict.at.lineage.account = 1
	if v, _, _ := s.sends(k(23, 3*time.Hour+9*time.Minute), nil, record.Usage{}); v.New != "" || v.Cache.Lifetime != 10*time.Minute {
		t.Errorf("the lifetime seen does not hold: %+v", v)
	}
	if v, _, _ := s.sends(k(24, 9*time.Hour), nil, record.Usage{}); v.New != trim.Gap {
		t.Errorf("%+v", v)
	}
}

// What was learned of the provider's cache holds after a compaction.
func TestSurvivesCompaction(t *testing.T) {
	for _, alive := range []bool{true, false} {
		s, of, at := newState(), new(Conversation), noon
		ask := func(k talk, u record.Usage) trim.Cause {
			at = at.Add(time.Second)
			k.of = of
			v, _, _ := s.sends(k.at(at), nil, u)
			of.newest.account = 0 // the account is empty
			return v.New
		}
		usage := record.Usage{Input: 10, CacheWrite: 9_000}
		ask(talk{rounds: 20}, usage)
		if alive {
			usage = record.Usage{Input: 10, CacheRead: 9_000}
		}
		got := []trim.Cause{
			ask(talk{rounds: 21, tools: "2"}, usage),
			ask(talk{rounds: 4, tools: "2", begun: "a summary"}, record.Usage{}),
			ask(talk{rounds: 5, tools: "3", begun: "a summary"}, record.Usage{}),
		}
		want := []trim.Cause{trim.Tools, trim.Compaction, trim.Tools}
		if alive {
			want[2] = ""
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("alive %v: %s", alive, diff)
		}
	}
}

// The number of tokens that were read from the cache shows whether it was cold.
func TestSight(t *testing.T) {
	for name, test := range map[string]struct {
		read, written int
		want          sight
	}{
		"no tokens were read":          {0, 8_000, shownCold},
		"tools and system text":        {200, 7_800, shownCold},
		"much of the conversation":     {6_000, 2_000, shownAlive},
		"the provider does not say":    {0, 0, shownNothing},
		"too little to say it of":      {0, 900, shownNothing},
		"all of it, and no new tokens": {8_000, 0, shownAlive},
	} {
		t.Run(name, func(t *testing.T) {
			s := newState()
			s.sends(talk{rounds: 20}.at(noon), nil, record.Usage{})
			r := talk{rounds: 21}.at(noon.Add(time.Minute))
			w := s.Commit(r, s.Judge(r), nil)
			a := Answer{Usage: record.Usage{CacheRead: test.read, CacheWrite: test.written}, Compared: w.Compare(r.Decoded), MinTokens: 1024}
			if got := w.sight(a); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

// Compare says in which part a request differs from the request before.
func TestCompare(t *testing.T) {
	first := talk{rounds: 3}
	for name, test := range map[string]struct {
		then  talk
		plan  *trim.Plan
		broke string
		at    int
	}{
		"nowhere":          {talk{rounds: 4}, planOf(3, "[line]"), "", 0},
		"model":            {talk{rounds: 4, model: "2"}, nil, record.BrokeModel, 0},
		"tools":            {talk{rounds: 4, tools: "2"}, nil, record.BrokeTools, 0},
		"system text":      {talk{rounds: 4, system: "2"}, nil, record.BrokeSystem, 0},
		"an edit is other": {talk{rounds: 4}, planOf(3, "[another]"), record.BrokeStet, 3},
		"an edit is gone":  {talk{rounds: 4}, nil, record.BrokeStet, 3},
		"taken back":       {talk{rounds: 2}, planOf(3, "[line]"), "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newState()
			s.sends(first.at(noon), planOf(3, "[line]"), record.Usage{})
			r := test.then.at(noon.Add(time.Minute))
			c := s.Commit(r, s.Judge(r), test.plan).Compare(r.Decoded)
			if c.Broke != test.broke || c.BrokeAt != test.at || c.preamble > c.kept || c.kept > c.common || c.common > c.all {
				t.Errorf("%+v", c)
			}
		})
	}
}

// A request that was not answered is forgotten completely.
func TestRollback(t *testing.T) {
	s := newState()
	s.sends(talk{rounds: 9}.at(noon), nil, record.Usage{})
	for _, r := range []Request{
		talk{rounds: 9}.at(noon.Add(time.Second)), talk{rounds: 10}.at(noon.Add(time.Hour)), talk{rounds: 10, tools: "2"}.at(noon.Add(time.Hour)),
	} {
		next := talk{rounds: 11}.at(noon.Add(2 * time.Hour))
		before := s.Judge(next)
		s.Rollback(s.Commit(r, s.Judge(r), nil))
		if diff := cmp.Diff(before, s.Judge(next), cmp.AllowUnexported(Verdict{}, expiry{}), cmp.Comparer(func(a, b position) bool { return a == b })); diff != "" {
			t.Error(diff)
		}
		s.sound(t)
	}
}

// Another process that has read the stored turns plans a request in the same way.
func TestTake(t *testing.T) {
	s := newState()
	_, first, _ := s.sends(talk{rounds: 9}.at(noon), nil, record.Usage{})
	_, second, _ := s.sends(talk{rounds: 10}.at(noon.Add(time.Hour)), nil, record.Usage{})
	next := talk{rounds: 11}.at(noon.Add(2 * time.Hour))
	other := newState()
	if wanted := other.Wants(&next); len(wanted) != 12 || s.Wants(&next) != nil {
		t.Errorf("%d turns are wanted", len(wanted))
	}
	other.Take(&next, append(second, first...))
	if name, elsewhere := other.Named(&next); name != "c" || !elsewhere || other.Wants(&next) != nil {
		t.Errorf("goes on from %q", name)
	}
	here, there := s.Judge(next), other.Judge(next)
	if here.New != trim.Gap || there.New != here.New || here.Changed || there.Changed {
		t.Errorf("%+v, %+v", here, there)
	}
	if diff := cmp.Diff(here.Cache, there.Cache); diff != "" {
		t.Error(diff)
	}
	if _, elsewhere := s.Named(&next); elsewhere {
		t.Error("a conversation of this process has the name of an earlier one")
	}
}

// The memory is bounded.
func TestForget(t *testing.T) {
	s := newState()
	for i := range 2*MaxTurns + 1 {
		stored := record.Turn{Prefix: uint64(i), Time: noon.Add(time.Duration(i) * time.Second)}
		s.put(&turn{Turn: stored, lineage: new(lineage)})
	}
	s.forget()
	has := func(i uint64) bool { return s.turn(i, Key{}) != nil }
	if s.count != MaxTurns || len(s.turns) != s.count || has(20) || !has(2*MaxTurns) {
		t.Errorf("%d turns", s.count)
	}
}

// For any order of commits, settles and rollbacks: Judge changes nothing, and the State holds only data of remembered turns.
func TestAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, at := newState(), noon
		var out []*Pending
		var asked []Request
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			at = at.Add(time.Duration(rapid.SampledFrom([]int{1, 30, 400, 4000}).Draw(t, "seconds")) * time.Second)
			r := talk{
				rounds: rapid.IntRange(0, 6).Draw(t, "rounds"), model: rapid.SampledFrom([]string{"", "2", "strict"}).Draw(t, "model"),
				tools: rapid.SampledFrom([]string{"", "", "2"}).Draw(t, "tools"), thinking: rapid.Bool().Draw(t, "thinking"),
			}.at(at)
			v := s.Judge(r)
			if again := s.Judge(r); again.New != v.New || again.Changed != v.Changed || again.Cache != v.Cache {
				t.Fatalf("%+v, then %+v", v, again)
			}
			var plan *trim.Plan
			if len(r.Decoded.Messages) > 3 && rapid.Bool().Draw(t, "shortened") {
				plan = planOf(3, "[line]")
			}
			out, asked = append(out, s.Commit(r, v, plan)), append(asked, r)
			for len(out) > 0 && rapid.Bool().Draw(t, "comes back") {
				i := rapid.IntRange(0, len(out)-1).Draw(t, "which")
				w := out[i]
				if rapid.IntRange(0, 3).Draw(t, "lost") == 0 {
					s.Rollback(w)
				} else {
					u := record.Usage{CacheRead: rapid.IntRange(0, 9000).Draw(t, "read"), CacheWrite: rapid.IntRange(0, 9000).Draw(t, "written")}
					s.Settle(w, Answer{Time: at, Usage: u, Compared: w.Compare(asked[i].Decoded), Price: trim.Price{Read: 0.1, Write: 1.25}})
				}
				out, asked = append(out[:i:i], out[i+1:]...), append(asked[:i:i], asked[i+1:]...)
			}
			s.sound(t)
		}
	})
}
