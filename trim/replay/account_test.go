package replay

import (
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/trim/transcript"
)

// models returns a model for each of two names: "marked" has a cache that requests mark, and the provider of "unmarked" caches by
// itself.
func models(name string) (prices.Model, bool) {
	c, err := prices.Embedded()
	if err != nil {
		return prices.Model{}, false
	}
	for _, m := range c.Models() {
		if rule := m.Rule(); name == "marked" && rule.Breakpoints > 0 && m.USD.CacheWrite1h > 0 || name == "unmarked" && rule.Step > 1 && m.USD.CacheRead > 0 {
			return m, true
		}
	}
	return prices.Model{}, false
}

// TestAccountFindsBreaks has a case for each way to lose a prefix. The request before left 50,000 tokens in the cache.
func TestAccountFindsBreaks(t *testing.T) {
	before := BilledRequest{Number: 1, Model: "marked", Usage: llm.Usage{Input: 5, CacheRead: 20000, CacheWrite: 30000}, Messages: 10, Blocks: 12, Fixed: 15000}
	usage := func(read int) llm.Usage {
		return llm.Usage{Input: 5, CacheRead: read, CacheWrite: 60000 - read, Output: 100}
	}
	for _, test := range []struct {
		name string
		next BilledRequest
		lost int
		part Part
		at   int
	}{
		{"held", BilledRequest{Model: "marked", Usage: usage(50000), Messages: 12, Blocks: 14, Fixed: 15000}, 0, "", 0},
		{"almost held", BilledRequest{Model: "marked", Usage: usage(49500), Messages: 12, Blocks: 14, Fixed: 15000}, 0, "", 0},
		{"too late", BilledRequest{Model: "marked", Usage: usage(0), Gap: 6 * time.Minute, Messages: 12, Blocks: 14, Fixed: 15000}, 50000, PartGap, 0},
		{"another model", BilledRequest{Model: "unmarked", Usage: usage(0), Messages: 12, Blocks: 14, Fixed: 15000}, 50000, PartModel, 0},
		{"nothing read", BilledRequest{Model: "marked", Usage: usage(0), Gap: time.Minute, Messages: 12, Blocks: 14, Fixed: 15000}, 50000, PartHead, 0},
		{"the system text is read in part", BilledRequest{Model: "marked", Usage: usage(9000), Messages: 12, Blocks: 14, Fixed: 15000}, 41000, PartHead, 0},
		{"a message changed", BilledRequest{Model: "marked", Usage: usage(20000), Messages: 12, Blocks: 14, Fixed: 15000}, 30000, PartMessage, 4},
		{"far behind the marker", BilledRequest{Model: "marked", Usage: usage(20000), Messages: 30, Blocks: 40, Fixed: 15000}, 30000, PartMarker, 4},
		{"said to be the system text", BilledRequest{Model: "marked", Usage: usage(20000), Part: PartSystem}, 30000, PartSystem, 0},
		{"said, but nothing is lost", BilledRequest{Model: "marked", Usage: usage(50000), Part: PartSystem}, 0, "", 0},
	} {
		first := BilledRequest{Model: "marked", Usage: llm.Usage{CacheWrite: 20000}, Messages: 4, Blocks: 5, Fixed: 15000}
		all := Account([]BilledRequest{first, before, {}, test.next}, models)
		e := all[len(all)-1]
		if len(all) != 3 || e.Lost != test.lost || e.Part != test.part || e.At != test.at {
			t.Errorf("%s: %d lost at %q %d; want %d at %q %d", test.name, e.Lost, e.Part, e.At, test.lost, test.part, test.at)
		}
		if (e.Extra > 0) != (test.lost > 0) || e.Extra >= e.Cost {
			t.Errorf("%s: %v USD of %v", test.name, e.Extra, e.Cost)
		}
	}
}

// The price of a loss is what it cost to write the tokens, minus what it would have cost to read them.
func TestAccountPrices(t *testing.T) {
	m := prices.Model{Provider: "x", USD: prices.USD{Input: 1, Output: 10, CacheRead: 0.1, CacheWrite: 1.25}}
	all := Account([]BilledRequest{
		{Model: "m", Usage: llm.Usage{CacheWrite: 100000}},
		{Model: "m", Usage: llm.Usage{CacheRead: 40000, CacheWrite: 70000, Output: 1000}},
	}, func(string) (prices.Model, bool) { return m, true })
	want := 60000 * (1.25 - 0.1) / 1e6
	if got := all[1].Extra; got < want-1e-9 || got > want+1e-9 {
		t.Errorf("%v USD, want %v", got, want)
	}
	unknown := Account([]BilledRequest{{Model: "m", Usage: llm.Usage{CacheWrite: 5000}}, {Model: "m", Usage: llm.Usage{Input: 6000}}},
		func(string) (prices.Model, bool) { return prices.Model{}, false })
	if e := unknown[1]; e.Lost != 5000 || e.Cost != 0 || e.Extra != 0 {
		t.Errorf("an unknown model: %+v", e)
	}
}

// The requests of a session with a compaction, and with an answer without usage.
func TestRequests(t *testing.T) {
	at := func(minutes int) time.Time {
		return time.Date(2026, 1, 5, 10, minutes, 0, 0, time.UTC)
	}
	say := func(role llm.Role, minute int, text string) llm.Message {
		return llm.Message{Role: role, Time: at(minute), Parts: []llm.Part{{Text: text}}}
	}
	answer := func(minute, written, read int) llm.Message {
		m := say(llm.Assistant, minute, "yes")
		m.Model = "marked"
		if written+read > 0 {
			m.Usage = &llm.Usage{CacheWrite: written, CacheRead: read}
		}
		return m
	}
	s := &transcript.Session{
		Messages: []llm.Message{
			say(llm.User, 0, "go"), answer(1, 10000, 0), say(llm.User, 2, "on"), answer(3, 0, 0), say(llm.User, 4, "on"), answer(5, 100, 10000),
			say(llm.User, 6, "what was done"), answer(7, 7000, 0), say(llm.User, 20, "on"), answer(21, 7100, 0),
		},
		Starts: []int{6},
	}
	asked := BilledRequests(s, bytesCounter{})
	var parts []Part
	for _, e := range Account(asked, models) {
		parts = append(parts, e.Part)
	}
	if len(asked) != 4 || asked[1].Messages != 5 || asked[1].Gap != 3*time.Minute || asked[0].Fixed != 10000-4-2 || asked[2].Messages != 1 {
		t.Errorf("%+v", asked)
	}
	if len(parts) != 4 || parts[1] != "" || parts[2] != PartContext || parts[3] != PartGap {
		t.Errorf("%q", parts)
	}
}

// TestRecordedAccounts makes the accounts of the recorded sessions. It checks that no request lost more tokens than the cache had and
// the prompt has, and prints what was lost in which part.
func TestRecordedAccounts(t *testing.T) {
	lost, extra, bill := map[Part]int{}, map[Part]float64{}, 0.0
	requests, breaks := 0, 0
	for _, s := range recorded(t) {
		for _, e := range Account(BilledRequests(s, &tokens.Memo{}), prices.Lookup) {
			requests++
			bill += e.Cost
			if e.Lost > 0 {
				breaks++
				lost[e.Part] += e.Lost
				extra[e.Part] += e.Extra
			}
			if e.Lost > e.Kept || e.Lost > e.Usage.Prompt() || e.Lost > 0 && e.Part == "" {
				t.Errorf("%s: request %d: %+v", s.File, e.Number, e)
			}
		}
	}
	if requests == 0 {
		t.Skip("no recording carries usage")
	}
	t.Logf("%d requests, %d breaks, %.2f USD", requests, breaks, bill)
	for part, n := range lost {
		t.Logf("%-16s %9d tokens, %.2f USD, %.1f %%", part, n, extra[part], 100*extra[part]/bill)
	}
}
