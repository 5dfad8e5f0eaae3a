package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stet-dev/stet/test/npm"
	"github.com/stet-dev/stet/trim/replay"
)

// peerBill is what ccusage says of one file: tokens by kind, and dollars.
type peerBill struct {
	Input      int     `json:"inputTokens"`
	CacheRead  int     `json:"cacheReadTokens"`
	CacheWrite int     `json:"cacheCreationTokens"`
	Output     int     `json:"outputTokens"`
	USD        float64 `json:"totalCost"`
	CodexUSD   float64 `json:"costUSD"`
}

// peerSays runs ccusage over one file, in a home of its own.
func peerSays(t *testing.T, program, agent, file string) (p peerBill) {
	t.Helper()
	home := t.TempDir()
	dir := filepath.Join(home, "projects", "p")
	if agent == "codex" {
		dir = filepath.Join(home, "sessions", "2026", "11", "20")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer // ccusage looks for members without blanks
	for line := range bytes.Lines(data) {
		if json.Compact(&lines, line) == nil {
			lines.WriteByte('\n')
		}
	}
	if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), lines.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, agent, "session", "--json", "--offline")
	cmd.Env = append(os.Environ(), "HOME="+home, "CLAUDE_CONFIG_DIR="+home, "CODEX_HOME="+home)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	said := struct{ Totals peerBill }{}
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	said.Totals.USD += said.Totals.CodexUSD
	return said.Totals
}

// reasons say why a bill of ccusage (20.0.24) differs from stet's, and by how much. docs/comparison.md has them for people.
var reasons = []struct {
	why string
	usd func(answers []replay.Billed, peer float64) float64 // what ccusage would say without the reason
}{
	{"ccusage does not bill the provider's web searches: 10 dollars for a thousand", func(answers []replay.Billed, peer float64) float64 {
		for _, b := range answers {
			peer += 0.01 * float64(b.Usage.WebSearches)
		}
		return peer
	}},
	{"ccusage does not bill the surcharge for requests that must be answered in the United States", func(answers []replay.Billed, peer float64) float64 {
		for _, b := range answers {
			if b.Usage.Region == "us" {
				peer += b.Reported / 11
			}
		}
		return peer
	}},
}

// BILL-1, BILL-2, BILL-3: stet bills the recorded sessions of Claude Code and Codex, and the cases, like ccusage: the same tokens of each kind,
// and the same dollars to 0.5 %, or there is a reason.
func TestCcusage(t *testing.T) {
	modules := (&npm.Set{From: "npm", Name: "bench"}).Need(t)
	program := filepath.Join(modules, ".bin", "ccusage")
	compared, differ := 0, map[string]int{}
	for _, root := range append(filepath.SplitList(os.Getenv("STET_TRANSCRIPTS")), "../cmd/stet/testdata/savings") {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".jsonl") {
				return err
			}
			rep, err := replay.Savings(t.Context(), []string{path}, replay.Config{OneRule: true}, nil)
			if err != nil || len(rep.Groups[replay.ByAgent]) != 1 {
				return err
			}
			agent := map[string]string{"claude-code-jsonl": "claude", "codex-rollout": "codex"}[rep.Sessions[0].Format]
			if agent == "" {
				return nil
			}
			p, mine := peerSays(t, program, agent, path), rep.Groups[replay.ByAgent][0]
			if mine.USD == nil || p.USD == 0 { // one of the tables lacks the price
				mine.USD, p.USD = new(replay.Dollars), 0
			}
			compared++
			name := strings.TrimPrefix(path, root)
			if tokens := (replay.Used{Input: p.Input, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite, Output: p.Output}); tokens != mine.Used {
				if why := otherAnswers(name); why != "" {
					differ[why]++
				} else {
					t.Errorf("%s: stet %+v, ccusage %+v", name, mine.Used, tokens)
				}
				return nil
			}
			near := func(usd float64) bool { return math.Abs(usd-mine.USD.Reported) <= 0.005*mine.USD.Reported }
			if near(p.USD) {
				return nil
			}
			usd := p.USD
			for _, r := range reasons {
				for i := range rep.Sessions {
					if more := r.usd(rep.Sessions[i].Answers, usd); more != usd {
						usd = more
						differ[r.why]++
					}
				}
			}
			if !near(usd) {
				t.Errorf("%s: stet $%.4f, ccusage $%.4f", name, mine.USD.Reported, p.USD)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d files, of which differ: %v", compared, differ)
}

// otherAnswers says why stet and ccusage bill other answers of a case; empty: they should not.
func otherAnswers(name string) string {
	for part, why := range map[string]string{
		"S2-codex-fork": "the fork alone, without its parent's file: ccusage leaves out what it repeats, which then nothing bills",
	} {
		if strings.Contains(name, part) {
			return why
		}
	}
	return ""
}
