package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/test/replaytest"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/replay"
	"github.com/stet-dev/stet/trim/replay/check"
)

// sessionFiles writes n small sessions, and returns their directory. Every second one is much longer.
func sessionFiles(t *testing.T, n int) string {
	dir := t.TempDir()
	const (
		user   = `{"type":"user","uuid":"u%","parentUuid":"u^","sessionId":"s","cwd":"/home/me/project","timestamp":"2026-05-01T12:00:00Z","message":{"role":"user","content":"please look at the file"}}`
		answer = `{"type":"assistant","uuid":"u%","parentUuid":"u^","sessionId":"s","timestamp":"2026-05-01T12:00:05Z","message":{"id":"m%","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"It is fine."}],"usage":{"input_tokens":10,"output_tokens":4}}}`
	)
	for i := range n {
		var lines []string
		for turn := range 1 + i%2*20 {
			for k, line := range []string{user, answer} {
				id, before := fmt.Sprint(2*turn+k), fmt.Sprint(2*turn+k-1)
				line = strings.ReplaceAll(line, "%", id)
				if turn+k == 0 {
					line = strings.ReplaceAll(line, `"u^"`, "null")
				}
				lines = append(lines, strings.ReplaceAll(line, "^", before))
			}
		}
		name := filepath.Join(dir, string(rune('a'+i))+".jsonl")
		if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func benched(t *testing.T, paths []string, c Config) *Bench {
	t.Helper()
	b, err := Run(context.Background(), paths, c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func ourPolicies(t *testing.T) []Policy {
	var out []Policy
	for _, p := range trim.Policies()[1:] {
		ours, err := Ours(trim.Config{Policy: p})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, ours)
	}
	return out
}

func TestBench(t *testing.T) {
	dir := sessionFiles(t, 4)
	if err := os.WriteFile(filepath.Join(dir, "notes.json"), []byte(`{"a":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var last replay.Progress
	c := Config{
		Policies: append(ourPolicies(t), Policy{Name: "bound", Play: func(context.Context, *replay.Replay, []replay.Rule) (replay.Outcome, error) {
			return replay.Outcome{}, nil
		}}),
		About: func(file string) About {
			return map[string]About{
				"a.jsonl": {"small", "me/one"}, "b.jsonl": {"large", "me/one"}, "c.jsonl": {"", "me/two"},
			}[filepath.Base(file)]
		},
		Progress: func(p replay.Progress) { last = p },
	}
	b := benched(t, []string{dir}, c)
	if b.Sessions != 4 || b.Requests != 44 || len(b.Policies) != 6 || len(b.Skipped) != 1 || last.Files != 5 || last.Sessions != 4 {
		t.Errorf("%d sessions, %d requests, %d policies, %v, %+v", b.Sessions, b.Requests, len(b.Policies), b.Skipped, last)
	}
	if len(b.ByFormat) != 1 || len(b.ByStratum) != 2 || b.ByStratum["large"].Requests != 21 {
		t.Errorf("%v %v", b.ByFormat, b.ByStratum)
	}
	// Two sessions of one request: 23 characters are 6 tokens, after a fixed 15,000.
	small := b.ByStratum["small"].Policies[0]
	if small.Tokens != 15006 || !replaytest.Near(small.Cost[prices.Anthropic5m], 1507.5) || small.Rel != 0 || small.Peak != 15006 {
		t.Errorf("%+v", small)
	}
	if one, two := b.ByRepository["me/one"], b.ByRepository["me/two"]; len(b.ByRepository) != 2 || one.Sessions != 2 || two.Sessions != 1 ||
		len(b.ByStratum["large"].ByRepository) != 1 || b.ByAgent["Claude Code"].Sessions != 4 {
		t.Errorf("%v %v", b.ByRepository, b.ByAgent)
	}
	// The result does not depend on the number of workers.
	want, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{1, 3} {
		c.Workers = workers
		if got, _ := json.Marshal(benched(t, []string{dir}, c)); string(got) != string(want) {
			t.Errorf("%d workers: %s, want %s", workers, got, want)
		}
	}
}

// The report's JSON has the documented keys.
func TestBenchJSON(t *testing.T) {
	for name, paths := range map[string][]string{"none": nil, "two": {sessionFiles(t, 2)}} {
		out, err := json.Marshal(benched(t, paths, Config{Policies: ourPolicies(t), About: func(string) About { return About{Stratum: "s"} }}))
		if err != nil {
			t.Fatal(err)
		}
		type group struct {
			Policies []map[string]any `json:"policies"`
		}
		var got struct {
			group
			ByFormat  map[string]group `json:"by_format"`
			ByStratum map[string]group `json:"by_stratum"`
			Skipped   []any            `json:"skipped"`
		}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		if got.Policies == nil || got.ByFormat == nil || got.ByStratum == nil || got.Skipped == nil {
			t.Fatalf("%s: %s", name, out)
		}
		all := got.Policies
		for _, g := range []map[string]group{got.ByFormat, got.ByStratum} {
			for _, one := range g {
				all = append(all, one.Policies...)
			}
		}
		if len(all) < 5 {
			t.Errorf("%s: %d rows", name, len(all))
		}
		for _, row := range all {
			for _, key := range []string{"name", "tokens", "cost", "rel", "peak", "edits_supported", "edits_lost", "edits_split", "dangling", "worst_session"} {
				if _, ok := row[key]; !ok {
					t.Errorf("%s: no %q in %v", name, key, row)
				}
			}
			cost, _ := row["cost"].(map[string]any)
			for _, rule := range prices.Rules() {
				if _, ok := cost[rule.Name].(float64); !ok {
					t.Errorf("%s: no cost under %s in %v", name, rule.Name, row)
				}
			}
		}
	}
}

// The figures of groups: the sums, the median session and the dearest session.
func TestGroup(t *testing.T) {
	rules := replay.Rules()[:1]
	session := func(file string, off, with float64, lost int) *played {
		return &played{file: file, requests: 2, free: regime{counted: []replay.Outcome{
			{Tokens: int64(off), Cost: map[string]float64{prices.Anthropic5m: off}},
			{Tokens: int64(with), Peak: int(with), Cost: map[string]float64{prices.Anthropic5m: with}, Edits: check.Edits{Supported: 3, Lost: lost}, LostByRule: map[string]int{prices.Anthropic5m: lost}},
		}}}
	}
	of := grouping{[]Policy{{Name: "off"}, {Name: "x", Source: "a book"}}, rules, countedSizes}
	g := of.group([]*played{session("a", 100, 80, 0), session("b", 300, 330, 2), session("c", 600, 590, 1)})
	f := g.Policies[1]
	if g.Sessions != 3 || g.Requests != 6 || f.Tokens != 1000 || !replaytest.Near(f.Rel, 0) || !replaytest.Near(f.WorstSession, 0.1) || f.WorstFile != "b" ||
		!replaytest.Near(f.MedianSession, 590.0/600-1) || f.EditsLost != 3 || f.EditsSupported != 9 || f.Peak != 590 || f.LostByRule[prices.Anthropic5m] != 3 || f.Source != "a book" {
		t.Errorf("%+v", f)
	}
}

// The median of an even number of sessions is the mean of the middle two.
func TestGroupMedian(t *testing.T) {
	var all []*played
	for _, with := range []float64{90, 70, 100, 50} {
		all = append(all, &played{free: regime{counted: []replay.Outcome{{Cost: map[string]float64{prices.None: 100}}, {Cost: map[string]float64{prices.None: with}}}}})
	}
	rule, _ := prices.RuleNamed(prices.None)
	of := grouping{[]Policy{{Name: "off"}, {Name: "x"}}, []replay.Rule{{Rule: rule}}, countedSizes}
	g := of.group(all)
	if got := g.Policies[1].MedianSession; !replaytest.Near(got, -0.2) {
		t.Errorf("median %v, want -0.2", got)
	}
}

func TestBenchCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	dir := sessionFiles(t, 4)
	_, err := Run(ctx, []string{dir}, Config{Policies: ourPolicies(t), Progress: func(replay.Progress) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled bench: %v", err)
	}
	b := benched(t, []string{filepath.Join(dir, "none")}, Config{})
	if b.Sessions != 0 || !slices.ContainsFunc(b.Skipped, func(s replay.Skip) bool { return s.Unread }) {
		t.Errorf("%+v", b)
	}
}
