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

// shape is how unequal conversations are: a random factor with a median of about 1.
type shape struct {
	name   string
	factor func(*rand.Rand) float64
}

// Real traffic is like the first. The others are worse: of the last one the variance has no limit.
var (
	usual      = shape{"log-normal, sigma 1.2", func(r *rand.Rand) float64 { return math.Exp(1.2 * r.NormFloat64()) }}
	heavy      = shape{"log-normal, sigma 2", func(r *rand.Rand) float64 { return math.Exp(2 * r.NormFloat64()) }}
	pareto     = shape{"Pareto, alpha 2.5", func(r *rand.Rand) float64 { return math.Pow(1-r.Float64(), -1/2.5) }}
	noVariance = shape{"Pareto, alpha 1.5", func(r *rand.Rand) float64 { return math.Pow(1-r.Float64(), -1/1.5) }}
)

// traffic makes conversations. A few of them have many times the usual number of requests, and a few many times the usual cost of a request.
// One of five conversations is held out. In the others each request costs more, by effect.
func traffic(random *rand.Rand, n int, of shape, effect float64) (treated, held []sums) {
	for range n {
		requests := 1 + int(20*of.factor(random))
		each := 0.02 * math.Pow(of.factor(random), 2./3)
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
// is found in 80 of 100. No effect is called none. With tails that are heavier than those of real traffic fewer runs are covered: least says how many.
// A run is a seed, so it always has the same traffic. STET_SOAK counts 1,000 of them; few of them tell only whether the interval is far off.
func TestInterval(t *testing.T) {
	soak := os.Getenv("STET_SOAK") != ""
	for seed, c := range []struct {
		conversations int
		of            shape
		effect        float64
		runs          int // with STET_SOAK
		least         float64
		found         float64 // the least share of runs that find the effect
	}{
		{120, usual, 0, 1000, 0.95, 0}, {400, usual, 0, 1000, 0.95, 0}, {400, usual, -0.3, 1000, 0.95, 0},
		{2000, usual, -0.3, 500, 0.95, 0.8}, {2000, usual, 0, 500, 0.95, 0},
		{400, heavy, 0, 1000, 0.92, 0}, {2000, heavy, -0.3, 200, 0.92, 0}, {400, pareto, 0, 1000, 0.92, 0}, {2000, pareto, -0.3, 200, 0.9, 0.8},
		{400, noVariance, 0, 1000, 0.92, 0}, {2000, noVariance, 0, 200, 0.92, 0},
	} {
		runs := c.runs
		if !soak {
			if runs = 4000 / c.conversations; c.found > 0 {
				runs = 10
			}
		}
		covers, found, none, few := 0, 0, 0, 0
		for run := range runs {
			treated, held := traffic(rand.New(rand.NewPCG(uint64(run), uint64(seed))), c.conversations, c.of, c.effect)
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
		t.Logf("%s, %d conversations, effect %+.0f %%: the interval covers it in %d of %d runs (%.1f %%), and excludes 0 in %d", c.of.name, c.conversations, 100*c.effect, covers, runs,
			100*float64(covers)/float64(runs), found)
		// The standard error of a share of 95 % is 0.7 % in 1,000 runs, and 7 % in 10.
		least := c.least*float64(runs) - 2*math.Sqrt(c.least*(1-c.least)*float64(runs))
		if float64(covers) < least || found+none != runs || c.effect == 0 && float64(none) < least || float64(found) < c.found*float64(runs) {
			t.Errorf("%s, %d conversations, effect %v: covered %d, found %d, called none %d", c.of.name, c.conversations, c.effect, covers, found, none)
		}
	}
}

// LIVE-1: more conversations than there are units are counted, and their sums are whole.
func TestManyConversations(t *testing.T) {
	var u units
	for i := range 2 * maxUnits {
		for range 1 + i%2 {
			u.add(hashed(fmt.Sprint("conversation ", i)), sums{requests: 1, usd: 1})
		}
	}
	all := u.all()
	if s := groupOf(all); s.Conversations != 2*maxUnits || s.Requests != 3*maxUnits || s.USD != 3*maxUnits || len(all) > maxUnits {
		t.Errorf("%d units: %+v", len(all), s)
	}
}

// LIVE-1: of few conversations no difference is said, however large it is.
func TestDifferencesOfFew(t *testing.T) {
	for _, n := range []int{0, 3, 10, 30, 60} {
		treated, held := traffic(rand.New(rand.NewPCG(1, 1)), n, usual, -0.9)
		held = held[:min(len(held), fewest-1)]
		h := Holdout{groupOf(treated), groupOf(held), 0, differences(treated, held)}
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
	l := liveOf(rows, nil, nil, catalog)
	if math.Abs(l.USD-charged) > 1e-9 || math.Abs(l.Without-without) > 1e-9 || l.Output != 600 || l.Requests != 3 {
		t.Errorf("%+v, want %v and %v", l, charged, without)
	}
	var b strings.Builder
	if l.Print(&b, time.Now()); !strings.Contains(b.String(), "for 1,000 tokens of output: saved $0.11, charged $0.27") {
		t.Error(b.String())
	}
}

// LIVE-1, BILL-2, BILL-3: each kind of request, with its dollars by hand: prices are those of the providers' pages for a million tokens. left is what was left
// out, in the same tokens as the provider counts; unpriced and unbilled requests are named, and in no sum.
func TestLiveKinds(t *testing.T) {
	catalog, err := prices.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	const sonnet, opus = "claude-sonnet-4-5", "claude-opus-4-6"
	type row struct {
		model string
		left  int
		u     record.Usage
		set   func(*record.Request)
	}
	one := func(model string, u record.Usage) []row { return []row{{model, 0, u, nil}} }
	for _, c := range []struct {
		name                   string
		rows                   []row
		usd, saved             float64 // in millionths of a dollar
		unpriced, noUsage, cut int
	}{
		{name: "plain", rows: one(sonnet, record.Usage{Input: 1000, Output: 100}), usd: 1000*3 + 100*15},
		{name: "written for an hour", rows: one(sonnet, record.Usage{CacheWrite: 1000, CacheWrite1h: 1000}), usd: 1000 * 6},
		{name: "written for five minutes and for an hour", rows: one(sonnet, record.Usage{CacheRead: 500, CacheWrite: 1000, CacheWrite1h: 400}), usd: 500*0.3 + 600*3.75 + 400*6},
		{name: "left out of what is written for an hour", rows: []row{{sonnet, 500, record.Usage{CacheWrite: 1000, CacheWrite1h: 1000}, nil}}, usd: 1000 * 6, saved: 500 * 6},
		{name: "left out again, of what is read", rows: []row{{sonnet, 500, record.Usage{CacheWrite: 1000}, nil}, {sonnet, 500, record.Usage{CacheRead: 1000, Input: 10}, nil}},
			usd: 1000*3.75 + 1000*0.3 + 10*3, saved: 500*3.75 + 500*0.3},
		{name: "a long prompt", rows: one(sonnet, record.Usage{CacheRead: 200_000, Input: 1, Output: 10}), usd: 200_000*0.6 + 6 + 10*22.5},
		{name: "not yet a long prompt", rows: one(sonnet, record.Usage{CacheRead: 199_999, Input: 1, Output: 10}), usd: 199_999*0.3 + 3 + 10*15},
		{name: "a prompt that only stet keeps short", rows: []row{{sonnet, 50_000, record.Usage{Input: 190_000, Output: 10}, nil}}, usd: 190_000*3 + 150, saved: 240_000*6 + 225 - 190_000*3 - 150},
		{name: "a long prompt of Sonnet 4", rows: one("claude-sonnet-4-20250514", record.Usage{Input: 250_000, Output: 2000}), usd: 250_000*6 + 2000*22.5},
		{name: "Opus 4.6 has no price of long prompts", rows: one(opus, record.Usage{Input: 300_000}), usd: 300_000 * 5},
		{name: "a long prompt of OpenAI", rows: one("gpt-5.4", record.Usage{CacheRead: 200_000, Input: 100_000, Output: 10}), usd: 200_000*0.5 + 100_000*5 + 10*22.5},
		{name: "a long prompt of Gemini", rows: one("gemini-2.5-pro", record.Usage{CacheRead: 150_000, Input: 100_000, Output: 10}), usd: 150_000*0.25 + 100_000*2.5 + 10*15},
		{name: "reasoning is a part of output", rows: one("gpt-5", record.Usage{Input: 1000, Output: 900, Reasoning: 800}), usd: 1000*1.25 + 900*10},
		{name: "thoughts of Gemini", rows: one("gemini-2.5-flash", record.Usage{Input: 1000, CacheRead: 1000, Output: 900, Reasoning: 800}), usd: 1000*0.3 + 1000*0.03 + 900*2.5},
		{name: "cached input of OpenAI", rows: one("gpt-5", record.Usage{CacheRead: 1024, Input: 100}), usd: 1024*0.125 + 100*1.25},
		{name: "cache writes of OpenAI", rows: one("gpt-5.6-terra", record.Usage{CacheRead: 1024, CacheWrite: 512, Input: 100}), usd: 1024*0.2 + 512*2.5 + 100*2},
		{name: "a sub-agent", rows: []row{{opus, 0, record.Usage{Input: 100}, nil}, {"claude-haiku-4-5", 0, record.Usage{Input: 100, Output: 10}, func(r *record.Request) { r.Agent = "a" }}},
			usd: 100*5 + 100*1 + 10*5},
		{name: "a fork begins with what its root has sent", rows: []row{{sonnet, 500, record.Usage{CacheWrite: 1000}, nil}, {sonnet, 500, record.Usage{CacheRead: 1000, CacheWrite: 10}, func(r *record.Request) { r.Conversation, r.Root = "f", "c" }}},
			usd: 1000*3.75 + 1000*0.3 + 10*3.75, saved: 500*3.75 + 500*0.3},
		{name: "batch", rows: one(sonnet, record.Usage{Input: 1000, Output: 100, Tier: llm.TierBatch}), usd: (1000*3 + 100*15) / 2},
		{name: "flex, of what is cached too", rows: one("gpt-5", record.Usage{Input: 1000, CacheRead: 1000, Output: 100, Tier: llm.TierFlex}), usd: (1000*1.25 + 1000*0.125 + 100*10) / 2},
		{name: "priority", rows: one("gpt-5.5", record.Usage{Input: 1000, CacheRead: 1000, Output: 100, Tier: llm.TierPriority}), usd: 2.5 * (1000*5 + 1000*0.5 + 100*30)},
		{name: "a tier without a known price", rows: one("grok-4", record.Usage{Input: 1000, Tier: llm.TierFlex}), unpriced: 1},
		{name: "fast mode", rows: one(opus, record.Usage{Input: 1000, CacheRead: 100, Output: 10, Speed: llm.SpeedFast}), usd: 6 * (1000*5 + 100*0.5 + 10*25)},
		{name: "in the United States", rows: one(opus, record.Usage{Input: 1000, CacheWrite: 100, CacheWrite1h: 100, Region: "us"}), usd: 1.1 * (1000*5 + 100*10)},
		{name: "fast, and in the United States", rows: one("claude-opus-4-8", record.Usage{Input: 1000, Speed: llm.SpeedFast, Region: "us"}), usd: 2.2 * 1000 * 5},
		{name: "Bedrock in a region", rows: one("eu.anthropic.claude-sonnet-4-5-20250929-v1:0", record.Usage{Input: 1000, Output: 100}), usd: 1.1 * (1000*3 + 100*15)},
		{name: "Bedrock behind a gateway", rows: one("bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0", record.Usage{Input: 1000}), usd: 1.1 * 1000},
		{name: "Bedrock, all regions", rows: one("global.anthropic.claude-sonnet-4-5-20250929-v1:0", record.Usage{Input: 1000}), usd: 1000 * 3},
		{name: "Bedrock, an older model", rows: one("us.anthropic.claude-sonnet-4-20250514-v1:0", record.Usage{Input: 1000}), usd: 1000 * 3},
		{name: "Vertex in a region", rows: one("claude-opus-4-5@20251101", record.Usage{Input: 1000, Region: llm.RegionCloud}), usd: 1.1 * 1000 * 5},
		{name: "Vertex, all regions", rows: one("claude-opus-4-5@20251101", record.Usage{Input: 1000}), usd: 1000 * 5},
		{name: "Gemini in a region", rows: one("gemini-2.5-pro", record.Usage{Input: 1000, Region: llm.RegionCloud}), usd: 1000 * 1.25},
		{name: "searches of the provider", rows: one(sonnet, record.Usage{Input: 1000, WebSearches: 3}), usd: 1000*3 + 3*10_000},
		{name: "searches cost the same in a batch", rows: one(sonnet, record.Usage{Input: 1000, WebSearches: 1, Tier: llm.TierBatch}), usd: 1000*1.5 + 10_000},
		{name: "searches whose price is not known", rows: one("gpt-5.3-codex", record.Usage{Input: 1000, WebSearches: 1}), unpriced: 1},
		{name: "a free variant", rows: one("qwen/qwen3-coder:free", record.Usage{Input: 1000, Output: 100})},
		{name: "a model that is not known", rows: one("a-model-of-mine", record.Usage{Input: 1000, Output: 100}), unpriced: 1},
		{name: "a newer model of a known family", rows: one("claude-sonnet-5-9", record.Usage{Input: 1000}), unpriced: 1},
		{name: "a model that draws, named like one that does not", rows: one("gemini-2.5-flash-image", record.Usage{Input: 1000, Output: 1290}), unpriced: 1},
		{name: "names with a date, a window, a vendor", rows: []row{{"claude-sonnet-4-5-20250929", 0, record.Usage{Input: 100}, nil}, {"claude-sonnet-4-5[1m]", 0, record.Usage{Input: 100}, nil},
			{"anthropic/claude-sonnet-4.5", 0, record.Usage{Input: 100}, nil}, {"openai/gpt-5-2025-08-07", 0, record.Usage{Input: 100}, nil}, {"gpt-4o-2024-05-13", 0, record.Usage{Input: 100}, nil}},
			usd: 3*100*3 + 100*1.25 + 100*5},
		{name: "an error and its retry", rows: []row{{sonnet, 500, record.Usage{}, func(r *record.Request) { r.Status = 529 }}, {sonnet, 500, record.Usage{Input: 1000}, nil}}, usd: 1000 * 3, saved: 500 * 3},
		{name: "a stream that was cancelled before its usage", rows: []row{{"gpt-5", 500, record.Usage{}, func(r *record.Request) { r.Cut = true }}, {"gpt-5", 0, record.Usage{Input: 1000}, nil}}, usd: 1000 * 1.25, noUsage: 1},
		{name: "a stream that was cancelled after its first usage", rows: []row{{sonnet, 0, record.Usage{Input: 1000, Output: 1}, func(r *record.Request) { r.Cut = true }}}, usd: 1000*3 + 15, cut: 1},
		{name: "the client went away before an answer", rows: []row{{sonnet, 0, record.Usage{}, func(r *record.Request) { r.Status = 0 }}}},
		{name: "counting tokens", rows: []row{{sonnet, 0, record.Usage{}, func(r *record.Request) { r.API = record.CountTokens }}}},
		{name: "only observed", rows: []row{{sonnet, 500, record.Usage{Input: 1000}, func(r *record.Request) { r.Observe = true }}}, usd: 1000 * 3},
		{name: "stet broke a warm cache", rows: []row{{sonnet, 0, record.Usage{CacheWrite: 10_000}, nil}, {sonnet, 5000, record.Usage{CacheRead: 1000, CacheWrite: 4000}, func(r *record.Request) { r.Cache.Broke = record.BrokeStet }}},
			usd: 10_000*3.75 + 1000*0.3 + 4000*3.75, saved: 10_000*0.3 - 1000*0.3 - 4000*3.75},
	} {
		l := NewLive(catalog)
		for i, r := range c.rows {
			row := record.Request{ID: fmt.Sprint(i), Time: time.Unix(int64(i), 0), Conversation: "c", API: llm.Messages, Model: r.model, Status: 200, Usage: r.u}
			row.Tokens = r.u.Prompt()
			row.TokensOff = row.Tokens + r.left
			if r.set != nil {
				r.set(&row)
			}
			l.Add(&row)
		}
		got := l.Live(nil, nil)
		if math.Abs(got.USD*1e6-c.usd) > 1e-6 || math.Abs((got.Without-got.USD)*1e6-c.saved) > 1e-6 || got.Unpriced != c.unpriced || got.NoUsage != c.noUsage || got.Cut != c.cut {
			t.Errorf("%s: charged %.2f, saved %.2f; want %.2f, %.2f: %+v", c.name, got.USD*1e6, (got.Without-got.USD)*1e6, c.usd, c.saved, got)
		}
	}
}

// liveOf is what the command does with the record.
func liveOf(rows []record.Request, meters []record.Meter, caps []record.Cap, c *prices.Catalog) Live {
	l := NewLive(c)
	for i := range rows {
		l.Add(&rows[i])
	}
	return l.Live(meters, caps)
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
	l := liveOf(rows, meters, caps, catalog)
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
		"in no group: 1 conversation that the agent does not name", "limit of $5.00 for a day: $6.20 spent, $1.20 of it by a loop of tools after the limit was reached, 2 requests refused",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
	b.Reset()
	l = liveOf(rows[:8], nil, nil, catalog)
	if l.Print(&b, now); !strings.Contains(b.String(), "too few conversations to compare: both groups need 20") || strings.Contains(b.String(), "%]") {
		t.Error(b.String())
	}
	for range 2 { // in a group that has this conversation already
		row("t0", record.Treated, 200).Model = "a model without a price"
	}
	if h := liveOf(rows, nil, nil, catalog).Holdout; h.Treated.Unpriced != 2 || h.Treated.Conversations != 25 {
		t.Errorf("%+v", h.Treated)
	}
}

// habitsOf is what the command does with the record.
func habitsOf(rows []record.Request, sets []record.ToolSet, calls []record.ToolCalls, c *prices.Catalog) *Habits {
	h := NewHabits(c, time.Time{}, time.Time{})
	h.Offered(sets, calls)
	for i := range rows {
		h.AddRequest(&rows[i])
	}
	for i := range rows {
		h.AddTools(&rows[i])
	}
	return h
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
			r.Model, r.Cache.Gap = "claude-sonnet-4-0", 0
		case 1:
			r.Model, r.Cache.Gap = "claude-sonnet-4-0", time.Hour
		case 4:
			r.Usage = record.Usage{CacheRead: 100_000, CacheWrite: 100}
		}
		rows = append(rows, r)
	}
	h := habitsOf(rows, []record.ToolSet{{ID: 1, Tools: []record.OfferedTool{{Name: "Read", Tokens: 500}, {Name: "mcp__x__never", Tokens: 1000}}}},
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
	for _, want := range []string{"cold resumes", ": $0.34 in 1 request", "request 2 of c: stet cache --live --last 0 c", "remove them, or their MCP server"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
	h = NewHabits(catalog, rows[1].Time, time.Time{})
	for i := range rows[1:] {
		h.AddRequest(&rows[1+i])
	}
	b.Reset()
	if h.Print(&b); strings.Contains(b.String(), "request 1 of") || strings.Contains(b.String(), "request 2 of") || !strings.Contains(b.String(), "  c: stet cache --live") {
		t.Errorf("since the second request:\n%s", b.String()) // the command shows it with another number
	}
	b.Reset()
	var account Cache
	account.AddRequests(rows, catalog)
	account.Sum(catalog)
	account.Print(&b, 0)
	for _, want := range []string{"gap: go on before the cache ends", "model: choose the model at the start", "system: the agent changed its system text: take clocks"} {
		if !strings.Contains(b.String(), want) { // LIVE-2
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}

// What looks like a habit and is none costs nothing: a small model beside the conversation, a sub-agent of another model, a resume that was warm, a
// switch and a changed system text after the cache had ended, a first request, and what the provider dropped. The sums of the others are by hand.
func TestHabitsAreTrue(t *testing.T) {
	catalog, err := prices.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	const sonnet, haiku = "claude-sonnet-4-5", "claude-haiku-4-5"
	lost := func(tokens int) float64 { return float64(tokens) * (3.75 - 0.3) / 1e6 }
	type row struct {
		agent, model string
		gap          time.Duration
		broke        string
		u            record.Usage
	}
	first := row{"", sonnet, 0, "", record.Usage{CacheWrite: 100_000}}
	for _, c := range []struct {
		name string
		rows []row
		want map[string]float64
	}{
		{"a small model beside it", []row{first, {"", haiku, 0, "", record.Usage{Input: 20_000}}, {"", sonnet, time.Minute, "", record.Usage{CacheRead: 100_000, CacheWrite: 500}}}, nil},
		{"and then a cold resume of the large one", []row{first, {"", haiku, 0, "", record.Usage{Input: 20_000}}, {"", sonnet, time.Hour, "", record.Usage{CacheWrite: 101_000}}},
			map[string]float64{"cold resumes": lost(100_000)}},
		{"a sub-agent", []row{first, {"sub", haiku, 0, "", record.Usage{CacheWrite: 30_000}}, {"", sonnet, time.Minute, "", record.Usage{CacheRead: 100_000}}}, nil},
		{"a resume that was warm", []row{first, {"", sonnet, time.Hour, "", record.Usage{CacheRead: 100_000, CacheWrite: 500}}}, nil},
		{"a switch in mid-session, with a small model beside it", []row{first, {"", haiku, 0, "", record.Usage{Input: 2_000}}, {"", "claude-sonnet-4-0", time.Minute, record.BrokeModel, record.Usage{CacheWrite: 101_000}}},
			map[string]float64{"another model in mid-session": lost(100_000)}},
		{"a switch after the cache had ended", []row{first, {"", "claude-sonnet-4-0", time.Hour, record.BrokeModel, record.Usage{CacheWrite: 101_000}}},
			map[string]float64{"cold resumes": lost(100_000)}},
		{"a clock, and tools that are added", []row{first, {"", sonnet, time.Minute, record.BrokeSystem, record.Usage{CacheRead: 10_000, CacheWrite: 90_000}},
			{"", sonnet, time.Minute, record.BrokeTools, record.Usage{CacheWrite: 110_000}}}, map[string]float64{changedHead: lost(90_000 + 100_000)}},
		{"a clock after the cache had ended", []row{first, {"", sonnet, time.Hour, record.BrokeSystem, record.Usage{CacheWrite: 100_000}}}, map[string]float64{"cold resumes": lost(100_000)}},
		{"the provider dropped it", []row{first, {"", sonnet, time.Minute, "", record.Usage{CacheWrite: 100_000}}}, nil},
		{"an hour's cache after half an hour", []row{{"", sonnet, 0, "", record.Usage{CacheWrite: 100_000, CacheWrite1h: 100_000}}, {"", sonnet, 30 * time.Minute, "", record.Usage{CacheWrite: 100_000}}}, nil},
	} {
		var rows []record.Request
		for i, r := range c.rows {
			lifetime := 5 * time.Minute
			if c.rows[0].u.CacheWrite1h > 0 {
				lifetime = time.Hour
			}
			rows = append(rows, record.Request{
				ID: fmt.Sprint(i), Time: time.Unix(int64(i), 0), Conversation: "c", Agent: r.agent, API: llm.Messages, Model: r.model, Status: 200, Usage: r.u,
				Cache: record.Cache{Gap: r.gap, Lifetime: lifetime, Broke: r.broke},
			})
		}
		h := habitsOf(rows, nil, nil, catalog)
		if len(h.Habits) != len(c.want) {
			t.Errorf("%s: %+v", c.name, h.Habits)
		}
		for _, habit := range h.Habits {
			if math.Abs(habit.USD-c.want[habit.Name]) > 1e-9 {
				t.Errorf("%s: %+v, want %v", c.name, habit, c.want)
			}
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
