package proxy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/prices"
	"github.com/stet-dev/stet/record"
)

// Models that are alike to the engine share one; what the configuration says
// holds for all of them; a user's own prices go before.
func TestEngines(t *testing.T) {
	catalog, err := prices.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	if err := catalog.Load([]byte(`{"models":[{"id":"own-model","window":5000,"usd":{"in":2,"read":1,"write":3}}]}`)); err != nil {
		t.Fatal(err)
	}
	read5 := history.Price{Read: 0.1, Write: 1.25}
	for _, test := range []struct {
		name, api, model string
		lifetime         time.Duration
		config           Config
		want             terms
	}{
		{"known", record.Messages, "claude-opus-4-6", 0, Config{}, terms{1_000_000, read5, true, false}},
		{"its newer name", record.Messages, "anthropic/claude-opus-4-6-20260101", 0, Config{}, terms{1_000_000, read5, true, false}},
		{"for an hour", record.Messages, "claude-opus-4-6", time.Hour, Config{}, terms{1_000_000, history.Price{Read: 0.1, Write: 2}, true, false}},
		{"no markers", record.Responses, "gpt-5.6-sol", 24 * time.Hour, Config{}, terms{1_050_000, read5, false, false}},
		{"unknown", record.Chat, "m", 0, Config{}, terms{0, history.Price{Read: 0.1, Write: 1}, false, false}},
		{"one's own", record.Chat, "own-model", 0, Config{Prices: catalog}, terms{5000, history.Price{Read: 0.5, Write: 1.5}, false, false}},
		{"thinking is checked", record.Messages, "claude-opus-5-5", time.Hour, Config{}, terms{marked: true, checks: true}},
		{"said", record.Messages, "claude-opus-4-6", 0, Config{History: history.Config{Window: 9, Price: history.Price{Read: 1, Write: 1}}}, terms{9, history.Price{Read: 1, Write: 1}, true, false}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newProxy(t, func(to *Config) { *to = test.config })
			asked := &llm.Caching{Lifetime: test.lifetime}
			e, err := p.engines.of(test.api, test.model, asked, test.want.checks)
			if err != nil {
				t.Fatal(err)
			}
			if p.engines.made[test.want] != e || len(p.engines.made) != 1 {
				t.Errorf("%+v, want %+v", p.engines.made, test.want)
			}
			if again, _ := p.engines.of(test.api, test.model, asked, test.want.checks); again != e {
				t.Error("asked again, it is another")
			}
		})
	}
}

// Clients may name any model: the engines do not grow with their names.
func TestEnginesAreFew(t *testing.T) {
	p := newProxy(t)
	for i := range 2 * maxRules {
		if _, err := p.engines.of(record.Chat, fmt.Sprint("m", i), new(llm.Caching), false); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(p.engines.made); n != 1 {
		t.Errorf("%d engines", n)
	}
}

// What stands further back than half of the model's window is sent again, and
// that is so for each model of a conversation, in whatever turn it is asked.
func TestWindowOfModel(t *testing.T) {
	k := newTrial(t, 5*time.Minute)
	reads := func(id string) {
		k.said = append(k.said,
			llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, CallID: id, Name: "Read", Args: `{"file_path":"/home/me/project/a.go"}`}}},
			llm.Message{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: id, Text: numbered("a.go", 0)}}})
	}
	k.said = []llm.Message{words(llm.User, "go")}
	reads("first")
	k.said = append(k.said, words(llm.Assistant, strings.Repeat("I think of it. ", 30_000))) // 450 KB, more than half of 200,000 tokens
	reads("again")
	small, large := "claude-haiku-4-5", "claude-opus-4-6"
	for i, model := range []string{small, large, small, large, large, small} {
		k.model = model
		k.ask()
		k.at = k.at.Add(time.Second)
		want := 0
		if model == large {
			want = 1
		}
		if got := k.rows[i].Repeats; got != want {
			t.Errorf("request %d, to %s: %d repeats, want %d", i, model, got, want)
		}
		if i > 1 && (k.rows[i].Cache.Moment != "" || k.rows[i].Usage.CacheWrite > 0) {
			t.Errorf("request %d, to %s: %+v, %+v", i, model, k.rows[i].Cache, k.rows[i].Usage)
		}
	}
}

// Where it is asked for, old things leave a request to a cache that is alive,
// out of what was saved before, and the bill is lower for it; also where the
// provider finds by markers alone what it has, and writes all anew.
func TestMargin(t *testing.T) {
	bill := func(responses bool, change func(*Config)) (cost float64, changed int) {
		k := newTrial(t, 5*time.Minute, change)
		k.responses, k.model = responses, "gpt-5.6-sol"
		k.marked, k.with.ends, k.past.ends = !responses, !responses, !responses
		k.said = []llm.Message{words(llm.User, "go")}
		for i := range 80 {
			if i == 30 {
				k.at = k.at.Add(2 * time.Hour)
			}
			k.ask()
			k.runs(60)
			k.at = k.at.Add(20 * time.Second)
		}
		if k.with.cost > k.past.cost {
			t.Errorf("%.0f instead of %.0f", k.with.cost, k.past.cost)
		}
		for _, r := range k.rows {
			if r.Cache.Broke == record.BrokeMessage {
				changed++
			}
		}
		return k.with.cost, changed
	}
	asked := func(c *Config) { c.History.Margin = true }
	for _, responses := range []bool{true, false} {
		plain, once := bill(responses, func(*Config) {})
		margin, more := bill(responses, asked)
		t.Logf("responses: %v: %d changes, %d with the margin, %+.2f %%", responses, once, more, 100*(margin/plain-1))
		if once != 1 || more == once || responses && more < 3 || margin >= plain {
			t.Error("too few, or dearer")
		}
	}
}

// From a share of the window on, which is the model's own, old things leave at
// once although the cache is alive.
func TestPressureOfModel(t *testing.T) {
	for model, pressed := range map[string]bool{"claude-haiku-4-5": true, "claude-opus-4-6": false} {
		k := newTrial(t, 5*time.Minute, func(c *Config) { c.History.Pressure = 0.5 })
		k.model = model
		k.said = []llm.Message{words(llm.User, "go")}
		for range 24 {
			k.ask()
			k.runs(600)
			k.at = k.at.Add(20 * time.Second)
		}
		last := k.rows[len(k.rows)-1]
		if k.moments() > 0 || (last.Tokens < last.TokensOff) != pressed || pressed && last.Tokens > 150_000 {
			t.Errorf("%s: %d tokens of %d", model, last.Tokens, last.TokensOff)
		}
	}
}
