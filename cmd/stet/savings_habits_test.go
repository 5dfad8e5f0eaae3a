package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store"
)

// LIVE-2: each habit is a sum by hand with a sentence of advice and the two most expensive examples. Each of these can be opened by the command that is
// given, which shows the request with the same price. Recorded sessions are among them, and a session that is recorded by its agent and by
// the proxy counts once, also if its requests do not name it.
func TestHabitsCanBeOpened(t *testing.T) {
	home := t.TempDir()
	s, err := store.Open(t.Context(), filepath.Join(home, ".local/state/stet/stet.db"))
	if err != nil {
		t.Fatal(err)
	}
	// Three sessions in which 100,000, 200,000 and 300,000 tokens are lost.
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	var b record.Batch
	for i, broke := range []string{"", record.BrokeModel, record.BrokeSystem} {
		for size := 100_000; size <= 300_000; size += 100_000 {
			for n := range 2 {
				r := record.Request{
					ID: fmt.Sprint(i, size, n), Time: at, Conversation: fmt.Sprintf("session-%d-%d", i, size), Client: "claude-code", API: llm.Messages, Model: "claude-opus-4-6", Status: 200,
					ToolSet: 1, Usage: record.Usage{CacheWrite: size + n, Output: 10}, Cache: record.Cache{Lifetime: 5 * time.Minute},
				}
				if n == 1 {
					r.Cache.Broke, r.Cache.Gap = broke, time.Minute
					if broke == "" {
						r.Cache.Gap = time.Hour
					}
				} else if broke == record.BrokeModel {
					r.Model = "claude-opus-4-5"
				}
				at = at.Add(time.Minute)
				b.Requests = append(b.Requests, r)
			}
		}
	}
	twice := b.Requests[0] // its session is also a recording of an agent that names no session
	twice.ID, twice.Conversation, twice.ToolSet, twice.Client, twice.Model, twice.Usage = "twice", "0198c2f4", 0, "gemini-cli", "gemini-2.5-pro", record.Usage{Input: 4000, CacheRead: 96_000, Output: 1000}
	b.Requests = append(b.Requests, twice)
	b.ToolSets = []record.ToolSet{{ID: 1, Tools: []record.OfferedTool{{Name: "Read", Tokens: 500}, {Name: "never", Tokens: 1000}}}}
	b.ToolCalls = []record.ToolCalls{{Conversation: "session-0-100000", Tool: "Read", Calls: 3, Time: at}}
	if err := s.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, "it's recorded")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	lost := claude("lost").answer("1", "claude-opus-4-6", `"input_tokens":0,"cache_creation_input_tokens":100007,"output_tokens":10`).
		answer("2", "claude-opus-4-6", `"input_tokens":0,"cache_creation_input_tokens":100009,"output_tokens":10`)
	for name, text := range map[string]string{
		"lost.jsonl":   strings.Replace(lost.String(), `"parentUuid":"lost-u","sessionId":"lost","timestamp":"2026-11-20T10:03`, `"parentUuid":"lost-1","sessionId":"lost","timestamp":"2026-11-20T10:03`, 1),
		"gemini.jsonl": geminiSession().gemini("1", "gemini-2.5-pro", `"input":100000,"cached":96000,"output":1000,"thoughts":0,"tool":0,"total":101000`).String(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		p := &program{in: strings.NewReader(""), out: &out, err: &errs, env: []string{"HOME=" + home}, dir: home}
		if code := p.run(t.Context(), args); code != 0 {
			t.Fatalf("%q: exit code %d: %s", args, code, errs.String())
		}
		return out.String()
	}
	var h report.Habits
	if err := json.Unmarshal([]byte(run("savings", "--habits", "--json", dir)), &h); err != nil {
		t.Fatal(err)
	}
	const perToken = (6.25 - 0.5) / 1e6 // written again in place of read
	want := map[string]float64{
		"cold resumes": 600_000 * perToken, "another model in mid-session": 600_000 * perToken, "system text or tools that change": 600_000 * perToken,
		"caches lost in mid-session": 100_007 * perToken,
		"tools that were never used": 18 * 1000 * 6.25 / 1e6, // all requests write them
	}
	if h.Sessions != 9+2 || len(h.Habits) != len(want) {
		t.Errorf("%d sessions, %d habits: %+v", h.Sessions, len(h.Habits), h)
	}
	for _, habit := range h.Habits {
		if math.Abs(habit.USD-want[habit.Name]) > 1e-9 || habit.Advice == "" || strings.ContainsAny(habit.Advice, "\n") {
			t.Errorf("%s: $%v, want $%v: %q", habit.Name, habit.USD, want[habit.Name], habit.Advice)
		}
		if n := len(habit.Examples); n != 2 && habit.Name != "caches lost in mid-session" || n == 0 {
			t.Errorf("%s: %d examples", habit.Name, n)
		}
		for _, e := range habit.Examples {
			line := strings.ReplaceAll(e.Open, `'\''`, "\x00")
			var args []string
			for i, word := range strings.Split(line, "'") { // every second one is quoted
				if i%2 == 0 {
					args = append(args, strings.Fields(word)...)
				} else {
					args = append(args, strings.ReplaceAll(word, "\x00", "'"))
				}
			}
			shown := run(args[1:]...)
			if e.Request > 0 && !strings.Contains(shown, fmt.Sprintf("+$%.4f", e.USD)) || e.Request == 0 && !strings.Contains(shown, e.Session) {
				t.Errorf("%s: %q shows no $%.4f of request %d:\n%s", habit.Name, e.Open, e.USD, e.Request, shown)
			}
		}
	}
}
