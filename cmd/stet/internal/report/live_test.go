package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/trim/replay"
)

// traffic makes conversations whose costs have a heavy tail, as real ones have: a few are many times the usual one. One of five is held
// out; the others cost a request effect more.
func traffic(random *rand.Rand, n int, effect float64) (treated, held []sums) {
	for range n {
		requests := 1 + int(20*math.Exp(1.2*random.NormFloat64()))
		each := 0.02 * math.Exp(0.8*random.NormFloat64())
		s := sums{conversations: 1, requests: requests, priced: requests, output: 300 * requests}
		for range min(requests, 50) {
			if random.IntN(100) == 0 {
				s.errors++
			}
		}
		if s.usd = each * float64(requests); random.IntN(5) == 0 {
			held = append(held, s)
		} else {
			s.usd *= 1 + effect
			treated = append(treated, s)
		}
	}
	return treated, held
}

const theCost = 2 // the index of the cost of a request in figures

// LIVE-1: over simulated traffic with a known effect the interval covers it in 95 of 100 runs. With 2,000 conversations an effect of 30 %
// is found in 80 of 100. No effect is called none. A run is a seed, so it always has the same traffic. STET_SOAK counts 1,000 of them; few of
// them tell only whether the interval is far off.
func TestInterval(t *testing.T) {
	soak := os.Getenv("STET_SOAK") != ""
	for seed, c := range []struct {
		conversations int
		effect        float64
		runs          int // with STET_SOAK
	}{{120, 0, 1000}, {400, 0, 1000}, {400, -0.3, 1000}, {2000, -0.3, 500}, {2000, 0, 500}} {
		runs := c.runs
		if !soak {
			runs = 8000 / c.conversations
		}
		covers, found, none, few := 0, 0, 0, 0
		for run := range runs {
			treated, held := traffic(rand.New(rand.NewPCG(uint64(run), uint64(seed))), c.conversations, c.effect)
			d := differences(treated, held)[theCost]
			switch says := d.says(true); {
			case len(held) < fewest:
				few++
				continue
			case d.Distinguishable:
				found++
			case strings.HasPrefix(says, "not yet distinguishable ["):
				none++
			}
			if d.Low <= c.effect && c.effect <= d.High {
				covers++
			}
		}
		runs -= few
		t.Logf("%d conversations, effect %+.0f %%: the interval covers it in %d of %d runs (%.1f %%), and excludes 0 in %d", c.conversations, 100*c.effect, covers, runs, 100*float64(covers)/float64(runs), found)
		// The standard error of a share of 95 % is 0.7 % in 1,000 runs, and 5 % in 20.
		least := 0.95*float64(runs) - 2*math.Sqrt(0.95*0.05*float64(runs))
		if float64(covers) < least || found+none != runs || c.effect == 0 && float64(none) < least || c.conversations == 2000 && c.effect != 0 && found < runs*80/100 {
			t.Errorf("%d conversations, effect %v: covered %d, found %d, called none %d", c.conversations, c.effect, covers, found, none)
		}
	}
}

// LIVE-1: of few conversations no difference is said, however large it is.
func TestDifferencesOfFew(t *testing.T) {
	for _, n := range []int{0, 3, 10, 30, 60} {
		treated, held := traffic(rand.New(rand.NewPCG(1, 1)), n, -0.9)
		held = held[:min(len(held), fewest-1)]
		h := Holdout{groupOf(treated), groupOf(held), differences(treated, held)}
		for _, d := range h.Differences {
			if d.Distinguishable || d.Low != 0 || d.High != 0 || d.Change != 0 {
				t.Errorf("%d: %+v", n, d)
			}
		}
		var b strings.Builder
		if h.print(&b); strings.Contains(b.String(), "%]") || !strings.Contains(b.String(), "too few conversations to compare") {
			t.Errorf("%d: %s", n, b.String())
		}
	}
}

// LIVE-1: the sums of one conversation, by hand. A million tokens cost 5 dollars sent plain, 0.50 read from the cache, 6.25 written to it and 25 as
// output. The second request left out 10,000 tokens that would have been written; in the fourth they would have been read.
func TestLiveByHand(t *testing.T) {
	catalog, err := prices.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	var rows []record.Request
	for i, r := range []record.Request{
		{Status: 200, TokensOff: 10_000, Tokens: 10_000, Usage: record.Usage{Input: 100, CacheWrite: 9_900, Output: 200}},
		{Status: 200, TokensOff: 30_000, Tokens: 20_000, Usage: record.Usage{Input: 100, CacheRead: 10_000, CacheWrite: 9_900, Output: 300}},
		{Status: 500, TokensOff: 30_500, Tokens: 20_500},
		{Status: 200, TokensOff: 31_000, Tokens: 21_000, Usage: record.Usage{Input: 100, CacheRead: 20_000, CacheWrite: 900, Output: 100}},
	} {
		r.ID, r.Time, r.Conversation, r.API, r.Model = fmt.Sprint(i), time.Unix(int64(i), 0), "c", llm.Messages, "claude-opus-4-5"
		rows = append(rows, r)
	}
	charged := (300*5 + 30_000*0.5 + 20_700*6.25 + 600*25) / 1e6
	without := charged + (10_000*6.25+10_000*0.5)/1e6
	l := LiveOf(rows, nil, nil, catalog)
	if math.Abs(l.USD-charged) > 1e-9 || math.Abs(l.Without-without) > 1e-9 || l.Output != 600 || l.Requests != 3 {
		t.Errorf("%+v, want %v and %v", l, charged, without)
	}
	var b strings.Builder
	if l.Print(&b, time.Now()); !strings.Contains(b.String(), "for 1,000 tokens of output: saved $0.11, charged $0.27") {
		t.Error(b.String())
	}
}

// LIVE-1: the two numbers of live traffic, from recorded requests. Sub-agents and forks count with the conversation that they belong to.
func TestLive(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	catalog, err := prices.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	var rows []record.Request
	row := func(conversation, holdout string, status int) *record.Request {
		rows = append(rows, record.Request{
			ID: fmt.Sprint(len(rows)), Time: now.Add(time.Duration(len(rows)) * time.Minute), Conversation: conversation, Holdout: holdout, API: llm.Messages,
			Model: "claude-sonnet-4-5", Status: status, TokensOff: 150_000, Tokens: 100_000,
			Usage: record.Usage{Input: 100_000, Output: 1000},
		})
		return &rows[len(rows)-1]
	}
	for i := range 25 {
		row(fmt.Sprint("t", i), record.Treated, 200)
		row("", record.Treated, 200).Conversation = fmt.Sprint("t", i)
		r := row("sub", record.Treated, 500)
		r.Root, r.Usage = fmt.Sprint("t", i), record.Usage{}
		h := row(fmt.Sprint("h", i), record.HeldOut, 200)
		h.TokensOff, h.Tokens, h.Usage.Input = 0, 0, 150_000
	}
	row("", "", 200).Model = "a model without a price"
	rows[len(rows)-1].Conversation = "x"
	meters := record.Meters([]record.Note{
		{Time: now.AddDate(0, 0, -6), Text: `{"provider":"anthropic","limit":"5h","used":0.42,"reset":"2026-11-20T15:00:00Z"}`}, {Time: now, Text: "?"},
		{Time: now.AddDate(0, 0, -8), Text: `{"provider":"anthropic","limit":"7d","used":0.5}`},
	}, now)
	caps := record.Caps([]record.Note{
		{Time: now, Text: `{"scope":"day","limit":"$5.00","spent":"$6.20","share":1.24,"over":"$1.20","refused":2}`},
		{Time: now.Add(-25 * time.Hour), Text: `{"scope":"day","limit":"$5.00","spent":"$4.99","share":0.998}`}, // LIVE-3: one rule for the page and the terminal
	}, now)
	l := LiveOf(rows, meters, caps, catalog)
	if len(l.Caps) != 1 || len(l.Meters) != 1 {
		t.Errorf("%+v, %+v", l.Caps, l.Meters)
	}
	if l.Conversations != 51 || l.Requests != 76 || l.Unpriced != 1 || math.Abs(l.Without-l.USD-50*0.05*3) > 1e-9 || l.Output != 75_000 {
		t.Errorf("%+v", l)
	}
	if h := l.Holdout; h.Treated != (Group{25, 75, 0, 50_000, h.Treated.USD, 25}) || h.HeldOut.Conversations != 25 || !h.Differences[theCost].Distinguishable {
		t.Errorf("%+v", l.Holdout)
	}
	var b strings.Builder
	l.Print(&b, now)
	for _, want := range []string{
		"51 conversations, 76 requests through stet", "saved $7.50: $27.38 were charged, $34.87 without stet", "for 1,000 tokens of output: saved $0.1000, charged $0.37",
		"not in it: 1 request of a model whose price is not known", "errors in 100 requests                     33.3          0.0  +33.33 [+33.33, +33.33]",
		"subscription, anthropic, limit 5h: 42 % used by the whole account, until 2026-11-20",
		"limit of $5.00 for a day: $6.20 spent, $1.20 of it by a loop of tools after the limit was reached, 2 requests refused",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
	b.Reset()
	l = LiveOf(rows[:8], nil, nil, catalog)
	if l.Print(&b, now); !strings.Contains(b.String(), "too few conversations to compare: both groups need 20") || strings.Contains(b.String(), "%]") {
		t.Error(b.String())
	}
	for range 2 { // in a group that has this conversation already
		row("t0", record.Treated, 200).Model = "a model without a price"
	}
	if h := LiveOf(rows, nil, nil, catalog).Holdout; h.Treated.Unpriced != 2 || h.Treated.Conversations != 25 {
		t.Errorf("%+v", h.Treated)
	}
}

// What costs again and again comes from the account of the caches, and from the tools that were never called.
func TestHabits(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	catalog, err := prices.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	var rows []record.Request
	for i, broke := range []string{"", "", record.BrokeModel, record.BrokeSystem, ""} {
		r := record.Request{
			ID: fmt.Sprint(i), Time: now.Add(time.Duration(i) * time.Minute), Conversation: "c", Client: "claude-code", API: llm.Messages, Model: "claude-sonnet-4-5",
			Status: 200, ToolSet: 1, Usage: record.Usage{CacheWrite: 100_000, Output: 10}, Cache: record.Cache{Broke: broke, Gap: time.Minute, Lifetime: 5 * time.Minute},
		}
		switch i {
		case 0:
			r.Cache.Gap = 0
		case 1:
			r.Cache.Gap = time.Hour
		case 4:
			r.Usage = record.Usage{CacheRead: 100_000, CacheWrite: 100}
		}
		rows = append(rows, r)
	}
	var account Cache
	account.AddRequests(rows, catalog)
	h := HabitsOf(&account, map[string]string{"c": "Water the beds"}, nil)
	h.AddTools(rows, []record.ToolSet{{ID: 1, Tools: []record.OfferedTool{{Name: "Read", Tokens: 500}, {Name: "mcp__x__never", Tokens: 1000}}}},
		[]record.ToolCalls{{Conversation: "c", Tool: "Read", Calls: 3}}, catalog)
	got := map[string]float64{}
	for _, habit := range h.Habits {
		got[habit.Name] = habit.USD
		if len(habit.Examples) != 1 || habit.Examples[0].Session != "c" || habit.Advice == "" {
			t.Errorf("%+v", habit)
		}
	}
	lost := 100_000 * (3.75 - 0.3) / 1e6
	never := 1000 * (4*3.75 + 0.3) / 1e6
	want := map[string]float64{"cold resumes": lost, "another model in mid-session": lost, changedHead: lost, unusedTools: never}
	for name, usd := range want {
		if math.Abs(got[name]-usd) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got[name], usd)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
	var b strings.Builder
	h.Print(&b)
	for _, want := range []string{"cold resumes", ": $0.34 in 1 request", "Water the beds: stet cache --live", "remove them, or their MCP server"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
	b.Reset()
	account.Sum(catalog)
	account.Print(&b)
	for _, want := range []string{"gap: go on before the cache ends", "model: choose the model at the start", "system: the agent changed its system text: take clocks"} {
		if !strings.Contains(b.String(), want) { // LIVE-2
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}

// LIVE-2: what the provider causes is said to be its cause, and every place at which a cache may break has advice.
func TestAdvice(t *testing.T) {
	if !strings.HasPrefix(advice[partDropped], "the provider's cause") {
		t.Error(advice[partDropped])
	}
	for _, broke := range []string{
		record.BrokeModel, record.BrokeTools, record.BrokeSystem, record.BrokeMessage, record.BrokeStet, record.BrokeMarker, record.BrokeContext, record.BrokeSettings,
	} {
		if advice[replay.Part(broke)] == "" {
			t.Errorf("%s has no advice", broke)
		}
	}
}
