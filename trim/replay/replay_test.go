package replay

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/transcript"
)

func checkCosts(t *testing.T, what string, got, want map[string]float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: rules %v", what, got)
	}
	for name, w := range want {
		if !near(got[name], w) {
			t.Errorf("%s: %s costs %v, want %v", what, name, got[name], w)
		}
	}
}

// Three requests of 100, 350 and 600 tokens after a fixed prefix of 1,000. The third comes 11 minutes later: caches that live
// five or ten minutes are cold, a cache that lives an hour is warm.
func TestCostByHand(t *testing.T) {
	s := &transcript.Session{File: "s", Messages: []llm.Message{
		text(llm.User, 100, 0),
		text(llm.Assistant, 50, time.Minute),
		text(llm.User, 200, 2*time.Minute),
		{Role: llm.User, Local: true, Parts: []llm.Part{{Text: "a note that is not sent"}}},
		text(llm.Assistant, 50, 3*time.Minute),
		text(llm.User, 200, 14*time.Minute),
		text(llm.Assistant, 10, 15*time.Minute),
	}}
	off, r, err := Session(context.Background(), s, Config{Counter: bytes{}, Overhead: 1000, History: trim.Config{Policy: trim.Off}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Requests != 3 || off.Tokens != 3000+100+350+600 || r.Tokens != off.Tokens || r.Peak != 1600 || off.Peak != 1600 || r.Changed != 0 {
		t.Errorf("%+v", r)
	}
	want := map[string]float64{
		// fixed 3·1000·0.1; 100w; 100r + 250w; cold: 600w
		prices.Anthropic5m: 300 + 1.25*100 + 0.1*100 + 1.25*250 + 1.25*600,
		// the last request is warm: 350r + 250w
		prices.Anthropic1h: 300 + 2*100 + 0.1*100 + 2*250 + 0.1*350 + 2*250,
		prices.OpenAI:      300 + 1*100 + 0.1*100 + 1*250 + 1*600,
		prices.None:        4050,
	}
	checkCosts(t, "off", off.Cost, want)
	checkCosts(t, "with off", r.Cost, want)
}

// Each model has a cache of its own. A request to the earlier model reads what that model's cache has.
func TestModelSwitch(t *testing.T) {
	say := func(role llm.Role, model string) llm.Message {
		m := text(role, 100, 0)
		m.Model = model
		return m
	}
	s := &transcript.Session{Messages: []llm.Message{
		say(llm.User, ""), say(llm.Assistant, "one"), // 100 written
		say(llm.User, ""), say(llm.Assistant, "two"), // 300 written
		say(llm.User, ""), say(llm.Assistant, "one"), // 100 read, 400 written
	}}
	off, _, err := Session(context.Background(), s, Config{Counter: bytes{}, Overhead: -1, History: trim.Config{Policy: trim.Off}})
	if err != nil {
		t.Fatal(err)
	}
	if want := 1.25*100 + 1.25*300 + 0.1*100 + 1.25*400; !near(off.Cost[prices.Anthropic5m], want) {
		t.Errorf("cost %v, want %v", off.Cost[prices.Anthropic5m], want)
	}
}

// Under lossless the second read becomes a placeholder in the first request that has it. What was sent before does not change, so
// the prefix is stable, and no price rule makes the session dearer.
func TestLosslessByHand(t *testing.T) {
	s := readingSession(2)
	c := Config{Counter: bytes{}, Overhead: -1, History: trim.Config{Policy: trim.Lossless}}
	off, r, err := Session(context.Background(), s, c)
	if err != nil {
		t.Fatal(err)
	}
	if r.Requests != 3 || r.Reads != 2 || r.Repeats != 1 || r.Dangling != 0 || r.Changed != 0 {
		t.Fatalf("%+v", r)
	}
	result := len(s.Messages[2].Parts[0].Text)
	ask := len("Read") + len(s.Messages[1].Parts[0].Args)
	sizes := []int{40, 40 + ask + result, 40 + 2*(ask+result)}
	if want := int64(sizes[0] + sizes[1] + sizes[2]); off.Tokens != want {
		t.Errorf("off: %d tokens, want %d", off.Tokens, want)
	}
	left := int(off.Tokens - r.Tokens) // only the last request differs
	line := result - left
	if line < 40 || line > 200 {
		t.Fatalf("%d tokens left out of %d", left, result)
	}
	// each request reads what the one before had, and writes the rest
	cost := func(last int) float64 {
		return 1.25*40 + 0.1*40 + 1.25*float64(sizes[1]-40) + 0.1*float64(sizes[1]) + 1.25*float64(last-sizes[1])
	}
	if got, want := off.Cost[prices.Anthropic5m], cost(sizes[2]); !near(got, want) {
		t.Errorf("off costs %v, want %v", got, want)
	}
	if got, want := r.Cost[prices.Anthropic5m], cost(sizes[2]-left); !near(got, want) {
		t.Errorf("lossless costs %v, want %v", got, want)
	}
}

// TRIM-2 breaks the cache: with K = 1 the second read replaces the first, and everything after the first is written to the cache
// again.
func TestKeepLatestByHand(t *testing.T) {
	s := readingSession(2)
	c := Config{Counter: bytes{}, Overhead: -1, History: trim.Config{Policy: trim.KeepLatest, KeepReads: 1}}
	off, r, err := Session(context.Background(), s, c)
	if err != nil {
		t.Fatal(err)
	}
	if r.Requests != 3 || r.Changed != 1 {
		t.Fatalf("%+v", r)
	}
	result := len(s.Messages[2].Parts[0].Text)
	ask := len("Read") + len(s.Messages[1].Parts[0].Args)
	left := int(off.Tokens - r.Tokens)
	line := result - left
	want := 1.25*40 + // first request
		0.1*40 + 1.25*float64(ask+result) + // second: everything new is written
		0.1*float64(40+ask) + 1.25*float64(line+ask+result) // third: written from the placeholder on
	if got := r.Cost[prices.Anthropic5m]; !near(got, want) {
		t.Errorf("keep-latest costs %v, want %v (line of %d)", got, want, line)
	}
	if off := off.Cost[prices.None]; !near(off-r.Cost[prices.None], float64(left)) {
		t.Errorf("without a cache %v is saved, want %d", off-r.Cost[prices.None], left)
	}
}

// The agent's own compaction begins a new context. Messages from before it are not in its requests, and carried answers are not
// requests.
func TestStarts(t *testing.T) {
	s := readingSession(2)
	n := len(s.Messages)
	s.Messages = append(s.Messages,
		text(llm.User, 30, 5*time.Minute),     // the summary
		text(llm.Assistant, 5, 5*time.Minute), // a carried answer
		text(llm.User, 10, 5*time.Minute),
		text(llm.Assistant, 5, 6*time.Minute), // 45 tokens
	)
	s.Starts, s.Carried = []int{n}, []int{n + 1}
	c := Config{Counter: bytes{}, Overhead: -1, History: trim.Config{Policy: trim.Lossless}}
	off, r, err := Session(context.Background(), s, c)
	if err != nil {
		t.Fatal(err)
	}
	aloneOff, alone, err := Session(context.Background(), readingSession(2), c)
	if err != nil {
		t.Fatal(err)
	}
	if r.Requests != 4 || off.Tokens != aloneOff.Tokens+45 || r.Tokens != alone.Tokens+45 || r.Repeats != 1 || r.Reads != 2 {
		t.Errorf("%+v, before the start %+v", r, alone)
	}
	if got := off.Cost[prices.Anthropic5m] - aloneOff.Cost[prices.Anthropic5m]; !near(got, 1.25*45) {
		t.Errorf("the request after the start costs %v, want %v", got, 1.25*45)
	}
}

func TestDeterministic(t *testing.T) {
	for _, p := range []trim.Policy{trim.Lossless, trim.KeepLatest} {
		var first string
		for range 3 {
			_, r, err := Session(context.Background(), readingSession(9), Config{History: trim.Config{Policy: p}})
			if err != nil {
				t.Fatal(err)
			}
			out, _ := json.Marshal(r)
			if first == "" {
				first = string(out)
			} else if string(out) != first {
				t.Errorf("%s: %s then %s", p, first, out)
			}
		}
	}
}

// The report's JSON has exactly the documented keys.
func TestReport(t *testing.T) {
	dir := t.TempDir()
	lines := []string{
		`{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","cwd":"/home/me/project","timestamp":"2026-05-01T12:00:00Z","message":{"role":"user","content":"please look at the file"}}`,
		`{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"s","timestamp":"2026-05-01T12:00:05Z","message":{"id":"m1","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"It is fine."}],"usage":{"input_tokens":10,"output_tokens":4}}}`,
	}
	good := filepath.Join(dir, "a.jsonl")
	for name, data := range map[string]string{"a.jsonl": strings.Join(lines, "\n") + "\n", "b.txt": "only a note"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var seen []Progress
	rep, err := Savings(context.Background(), []string{good, filepath.Join(dir, "b.txt"), filepath.Join(dir, "none")},
		Config{History: trim.Config{Policy: trim.Lossless}}, func(p Progress) { seen = append(seen, p) })
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Sessions []map[string]any `json:"sessions"`
		Totals   map[string]any   `json:"totals"`
		Skipped  []map[string]any `json:"skipped"`
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Sessions) != 1 || len(got.Skipped) != 2 || len(seen) != 4 || seen[2].Files != 3 || seen[3].Requests != 1 || seen[3].Sessions != 1 {
		t.Fatalf("%s, progress %+v", out, seen)
	}
	keys := []string{"requests", "tokens_off", "tokens", "reads", "repeats", "dangling", "policy", "cost_off", "cost", "usd", "left_out", "recalled"}
	for _, m := range []map[string]any{got.Sessions[0], got.Totals} {
		for _, k := range keys {
			if _, ok := m[k]; !ok {
				t.Errorf("no %q in %v", k, m)
			}
		}
	}
	for _, k := range []string{"file", "format", "id", "agent", "title", "model", "started"} {
		if got.Sessions[0][k] == "" {
			t.Errorf("no %q in %v", k, got.Sessions[0])
		}
	}
	if n := len(got.Sessions[0]); n != len(keys)+7 || len(got.Totals) != len(keys) {
		t.Errorf("%d and %d keys", n, len(got.Totals))
	}
	// 23 characters are 6 tokens.
	if got.Sessions[0]["tokens_off"] != 15006.0 || got.Sessions[0]["policy"] != "lossless" || got.Sessions[0]["file"] != good {
		t.Errorf("%v", got.Sessions[0])
	}
	if cost := got.Totals["cost"].(map[string]any); !near(cost[prices.Anthropic5m].(float64), 1500+7.5) {
		t.Errorf("%v", cost)
	}
	for _, s := range got.Skipped {
		file, reason := s["file"].(string), s["reason"].(string)
		if len(s) != 2 || reason == "" || file == "" || strings.Contains(reason, file) || strings.Contains(reason, "read session") {
			t.Errorf("%v", s)
		}
	}
	empty, err := Savings(context.Background(), nil, Config{}, nil)
	if out, _ := json.Marshal(empty); err != nil || !strings.HasPrefix(string(out), `{"sessions":[],`) || !strings.Contains(string(out), `"skipped":[],`) {
		t.Errorf("%s, %v", out, err)
	}
}

func TestSavingsErrors(t *testing.T) {
	if _, err := Savings(context.Background(), nil, Config{History: trim.Config{Policy: "all"}}, nil); err == nil {
		t.Error("an unknown policy was accepted")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := Session(ctx, readingSession(2), Config{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled replay: %v", err)
	}
}
