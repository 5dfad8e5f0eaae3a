package proxy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/trim"
)

// Models with the same rules share one engine. What the configuration says holds for all of them. A user's own prices come first.
func TestEngines(t *testing.T) {
	catalog, err := prices.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	if err := catalog.Load([]byte(`{"models":[{"id":"own-model","window":5000,"usd":{"in":2,"read":1,"write":3}}]}`)); err != nil {
		t.Fatal(err)
	}
	read5 := trim.Price{Read: 0.1, Write: 1.25}
	for _, test := range []struct {
		name, api, model string
		lifetime         time.Duration
		config           Config
		want             terms
	}{
		{"known", llm.Messages, "claude-opus-4-6", 0, Config{}, terms{window: 1_000_000, price: read5}},
		{"its newer name", llm.Messages, "anthropic/claude-opus-4-6-20260101", 0, Config{}, terms{window: 1_000_000, price: read5}},
		{"for an hour", llm.Messages, "claude-opus-4-6", time.Hour, Config{}, terms{window: 1_000_000, price: trim.Price{Read: 0.1, Write: 2}}},
		{"no markers", llm.Responses, "gpt-5.6-sol", 24 * time.Hour, Config{}, terms{window: 1_050_000, price: read5}},
		{"unknown", llm.Chat, "m", 0, Config{}, terms{window: 0, price: trim.Price{Read: 0.1, Write: 1}}},
		{"one's own", llm.Chat, "own-model", 0, Config{Prices: catalog}, terms{window: 5000, price: trim.Price{Read: 0.5, Write: 1.5}}},
		{"thinking is checked", llm.Messages, "claude-opus-5-5", time.Hour, Config{}, terms{window: 1_000_000, checks: true}},
		{"said", llm.Messages, "claude-opus-4-6", 0, Config{History: trim.Config{Window: 9, Price: trim.Price{Read: 1, Write: 1}}}, terms{window: 9, price: trim.Price{Read: 1, Write: 1}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newProxy(t, func(to *Config) { *to = test.config })
			asked := &llm.Caching{Lifetime: test.lifetime}
			e, err := p.engines.of(test.api, test.model, asked, terms{checks: test.want.checks})
			if err != nil {
				t.Fatal(err)
			}
			if p.engines.made[test.want] != e || len(p.engines.made) != 1 {
				t.Errorf("%+v, want %+v", p.engines.made, test.want)
			}
			if again, _ := p.engines.of(test.api, test.model, asked, terms{checks: test.want.checks}); again != e {
				t.Error("asked again, it is another")
			}
		})
	}
}

// Clients may name any model. The number of engines does not grow with the number of names.
func TestEnginesAreFew(t *testing.T) {
	p := newProxy(t)
	for i := range 2 * maxRules {
		if _, err := p.engines.of(llm.Chat, fmt.Sprint("m", i, 0), new(llm.Caching), terms{}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(p.engines.made); n != 1 {
		t.Errorf("%d engines", n)
	}
}

// For each model of a conversation, content that stands further back than half of the model's window is sent again.
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
