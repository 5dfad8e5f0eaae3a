package transcript

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stet-dev/stet/llm"
)

// recordings returns the directory of recorded sessions, or skips the test.
func recordings(t testing.TB) string {
	dir := os.Getenv("STET_TRANSCRIPTS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "transcripts")
	}
	if _, err := os.Stat(filepath.Join(dir, "index.json")); err != nil {
		t.Skipf("no recorded sessions: %v", err)
	}
	return dir
}

// indexed is an entry of index.json in that directory.
type indexed struct {
	File        string `json:"file"`
	Format      string `json:"format"`
	Line        int    `json:"line"` // from 1, in a file with several sessions
	Turns       int    `json:"turns"`
	ToolResults *int   `json:"tool_results"` // nil: the index does not count them
}

func recordedIndex(t testing.TB, dir string) []indexed {
	b, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []indexed
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// tally counts the contents of a session.
type tally struct {
	turns, calls, results, opaque int
	stray                         int // results without a call before them
	unanswered                    int // calls without a result
}

func count(s *Session) tally {
	var n tally
	calls := map[string]int{}
	for i := range s.Messages {
		m := &s.Messages[i]
		if m.Role == llm.Assistant {
			n.turns++
		}
		for _, p := range m.Parts {
			switch p.Kind {
			case llm.ToolCall:
				n.calls++
				calls[p.CallID]++
			case llm.ToolResult:
				n.results++
				if calls[p.CallID] == 0 {
					n.stray++
				}
				calls[p.CallID]--
			case llm.Opaque:
				n.opaque++
			}
		}
	}
	for _, c := range calls {
		n.unanswered += max(c, 0)
	}
	return n
}

// TestRecorded reads every recorded session and compares it with its entry in the index. They may differ only in these
// cases, in which the two count differently:
//
//   - a damaged line holds one message;
//   - Codex: the index begins a new turn after each web search. Here the search is an Opaque part of the same answer.
//
// If an entry has no number of results, its index also counts turns in another way. For such files only the format is compared.
// Files in a format of the module bench, and all others, must be skipped without an error.
func TestRecorded(t *testing.T) {
	dir := recordings(t)
	files := map[string][]indexed{}
	for _, e := range recordedIndex(t, dir) {
		if !slices.Contains(FormatNames(), e.Format) {
			continue
		}
		path := filepath.Join(dir, e.File)
		files[path] = append(files[path], e)
	}
	skipped := map[string]bool{}
	err := Opener{}.Walk([]string{dir}, func(path string, sessions []*Session, err error) error {
		entries := files[path]
		delete(files, path)
		switch {
		case errors.Is(err, ErrFormat):
			skipped[filepath.Base(path)] = true
			return nil
		case err != nil:
			t.Error(err)
			return nil
		case len(entries) == 0:
			t.Errorf("%s is no recording", path)
		}
		for _, e := range entries {
			compare(t, e, sessions)
		}
		for _, s := range sessions {
			check(t, s, len(sessions[0].Damaged), len(entries) > 0 && entries[0].ToolResults != nil)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for f := range files {
		t.Errorf("%s was not visited", f)
	}
	if !skipped["index.json"] || skipped["README.md"] {
		t.Errorf("skipped %v", skipped)
	}
}

// compare compares a session with its entry in the index.
func compare(t *testing.T, e indexed, sessions []*Session) {
	t.Helper()
	s := sessions[max(e.Line-1, 0)]
	if s.Format != e.Format {
		t.Errorf("%s: format %s, want %s", e.File, s.Format, e.Format)
	}
	if e.ToolResults == nil {
		return
	}
	n := count(s)
	damaged := len(sessions[0].Damaged)
	turns, results := damaged, damaged
	if e.Format == "codex-rollout" {
		turns += n.opaque
	}
	if d := e.Turns - n.turns; d < 0 || d > turns {
		t.Errorf("%s: %d turns, want %d, at most %d less", e.File, n.turns, e.Turns, turns)
	}
	if d := *e.ToolResults - n.results; d < 0 || d > results {
		t.Errorf("%s: %d results, want %d, at most %d less", e.File, n.results, *e.ToolResults, results)
	}
	if damaged > 1 {
		t.Errorf("%s: %d damaged: %v", e.File, damaged, sessions[0].Damaged)
	}
}

// check checks what is true of every session. It also checks that calls have results, if answered is set. Each damaged line
// may have had one result.
func check(t *testing.T, s *Session, damaged int, answered bool) {
	t.Helper()
	n := count(s)
	if n.stray > 0 {
		t.Errorf("%s: session %s: %d results without a call before them", s.File, s.ID, n.stray)
	}
	// The last call may have been cut off, or may have ended the task.
	if answered && n.unanswered > 1+damaged {
		t.Errorf("%s: session %s: %d calls without a result", s.File, s.ID, n.unanswered)
	}
	for i, at := range s.Starts {
		if at <= 0 || at >= len(s.Messages) || i > 0 && at <= s.Starts[i-1] {
			t.Errorf("%s: session %s: starts %v of %d", s.File, s.ID, s.Starts, len(s.Messages))
		}
	}
	for _, i := range s.Carried {
		if s.Messages[i].Role != llm.Assistant || s.Messages[i].Usage != nil {
			t.Errorf("%s: session %s: message %d cannot be carried", s.File, s.ID, i)
		}
	}
	for i, m := range s.Messages {
		if len(m.Parts) == 0 {
			t.Errorf("%s: session %s: message %d has no parts", s.File, s.ID, i)
		}
	}
}

func BenchmarkClaudeCode(b *testing.B) { benchmarkFormat(b, "claude-code-jsonl") }

func BenchmarkCodex(b *testing.B) { benchmarkFormat(b, "codex-rollout") }

func BenchmarkOpencode(b *testing.B) { benchmarkFormat(b, "opencode-export") }

// benchmarkFormat reads all recordings of a format, one after the other.
func benchmarkFormat(b *testing.B, format string) {
	names, _ := filepath.Glob(filepath.Join(recordings(b), format, "*"))
	var size int64
	for _, n := range names {
		info, err := os.Stat(n)
		if err != nil {
			b.Fatal(err)
		}
		size += info.Size()
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for _, n := range names {
			if _, err := (Opener{}).Open(n); err != nil {
				b.Fatal(err)
			}
		}
	}
}
