package history

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stet-dev/stet/dialect"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/transcript"
)

// recordings calls do with every context of every recorded session: the
// messages between two beginnings.
func recordings(t *testing.T, do func(t *testing.T, name string, messages []llm.Message)) {
	dir := os.Getenv("STET_TRANSCRIPTS")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "transcripts")
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		t.Skip("no recordings: set STET_TRANSCRIPTS to a folder of session files")
	}
	err := transcript.Walk([]string{dir}, func(path string, sessions []*transcript.Session, err error) error {
		for _, s := range sessions {
			from := 0
			for _, to := range append(append([]int(nil), s.Starts...), len(s.Messages)) {
				if to > from {
					do(t, filepath.Base(path), s.Messages[from:to])
				}
				from = to
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TRIM-16 over recorded sessions: every line that lossless leaves out stands in
// an earlier result that is whole in the same request, and every call that a
// line names is there. The check shares the dialects with the engine, and
// nothing else.
func TestRecordedNothingIsLost(t *testing.T) {
	e := lossless(t)
	table := dialect.Default()
	trims, lines := 0, 0
	recordings(t, func(t *testing.T, name string, messages []llm.Message) {
		p := e.Plan(messages)
		out := llm.Apply(messages, p.Edits)
		actions := make(map[string]dialect.Action)
		var above []string // the results before this one, as they are sent
		ids := make(map[string]bool)
		for i := range messages {
			for j := range messages[i].Parts {
				was, is := &messages[i].Parts[j], &out[i].Parts[j]
				switch {
				case messages[i].Local:
				case was.Kind == llm.ToolCall:
					actions[was.CallID] = table.Action(was.Name, was.Args)
				case was.Kind == llm.ToolResult && was.Text != is.Text:
					trims++
					for _, s := range table.Result(actions[was.CallID], was.Text, was.IsError).Sections {
						for _, line := range s.Lines {
							lines++
							if !contains(is.Text, line) && !contains(strings.Join(above, "\n"), line) {
								t.Errorf("%s: message %d: %q is nowhere above", name, i, line)
							}
						}
					}
					for _, id := range named.FindAllStringSubmatch(is.Text, -1) {
						if id[1] != "an earlier read" && !ids[id[1]] {
							t.Errorf("%s: message %d names %q, which is not above", name, i, id[1])
						}
					}
					fallthrough
				case was.Kind == llm.ToolResult:
					above = append(above, is.Text)
					id, _, _ := strings.Cut(was.CallID, "|")
					ids[id] = true
				}
			}
		}
	})
	t.Logf("%d results, %d lines left out", trims, lines)
	if trims == 0 {
		t.Error("nothing was left out of any session: the check checks nothing")
	}
}

// named finds the calls that our lines name.
var named = regexp.MustCompile(`(?:shown above by|\),) ([^,()]+) \(lines`)

// contains reports whether text holds line, as it is or as a JSON string has it.
func contains(text, line string) bool {
	return strings.Contains(text, line) ||
		strings.Contains(text, strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\t", `\t`).Replace(line))
}

// Invariants 2, 4 and 5 over recorded sessions, and no policy fails on them.
func TestRecordedInvariants(t *testing.T) {
	engines := []*Engine{lossless(t), keep(t), newEngine(t, Config{Policy: KeepLatest, KeepReads: 1, BySize: true, ByContent: true})}
	recordings(t, func(t *testing.T, name string, messages []llm.Message) {
		for i, e := range engines {
			out, p := sent(t, e, messages)
			if len(out) != len(messages) {
				t.Fatalf("%s: %d messages became %d", name, len(messages), len(out))
			}
			if i > 0 {
				continue
			}
			if again := e.Plan(out); len(again.Edits) != 0 {
				t.Errorf("%s: planned again it changes message %d", name, again.Edits[0].Message)
			}
			half := len(messages) / 2
			for k, edit := range e.Plan(messages[:half]).Edits {
				if k >= len(p.Edits) || p.Edits[k] != edit {
					t.Errorf("%s: the plan of the first %d messages is no prefix", name, half)
					break
				}
			}
		}
	})
}
