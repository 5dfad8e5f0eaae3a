package trim

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/dialect"
	"github.com/stet-dev/stet/trim/transcript"
)

// recordings calls do with every context of every recorded session, or of a sample of them. A context is the messages between two
// beginnings.
func recordings(t *testing.T, do func(t *testing.T, name string, messages []llm.Message)) {
	dir := os.Getenv("STET_TRANSCRIPTS")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "transcripts")
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		t.Skip("no recordings: set STET_TRANSCRIPTS to a folder of session files")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	files = slices.DeleteFunc(files, func(string) bool { n++; return n%sample != 0 })
	err = transcript.Opener{}.Walk(files, func(path string, sessions []*transcript.Session, err error) error {
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

// TRIM-16 over recorded sessions: every line that lossless leaves out stands in an earlier result or call that is whole in the
// same request, and every call that a placeholder names is there. The same holds at cold points under adaptive, except for
// placeholders that say how to get the content again. The check reads the calls with the dialects, and shares nothing else with
// the engine.
func TestRecordedNothingIsLost(t *testing.T) {
	e, adaptive := lossless(t), newEngine(t, Config{})
	trims, lines := 0, 0
	recordings(t, func(t *testing.T, name string, messages []llm.Message) {
		a, b := checkNothingIsLost(t, name, messages, llm.Apply(messages, e.Plan(messages).Edits))
		trims, lines = trims+a, lines+b
		third := len(messages) / 3
		p := adaptive.Plan(messages, Point{After: third, Why: Gap}, Point{After: 2 * third, Why: Gap}, Point{After: len(messages), Why: Gap})
		checkNothingIsLost(t, name+" at cold points", messages, llm.Apply(messages, p.Edits))
	})
	t.Logf("%d results, %d lines left out", trims, lines)
	if trims == 0 {
		t.Error("nothing was left out of any session: the check checks nothing")
	}
}

// checkNothingIsLost returns how many results were shortened, and how many lines they showed.
func checkNothingIsLost(t *testing.T, name string, messages, out []llm.Message) (trims, lines int) {
	table := dialect.Default()
	actions := make(map[string]dialect.Action)
	var above []string // the results before this one, in the form in which they are sent
	ids := make(map[string]bool)
	for i := range messages {
		for j := range messages[i].Parts {
			was, is := &messages[i].Parts[j], &out[i].Parts[j]
			switch {
			case messages[i].Local:
			case was.Kind == llm.ToolCall:
				actions[was.CallID] = table.Action(was.Name, was.Args)
				above = append(above, decoded(is.Args))
				id, _, _ := strings.Cut(was.CallID, "|")
				ids[id] = true
			case was.Kind == llm.ToolResult && was.Text != is.Text && !recoverable.MatchString(is.Text):
				trims++
				shown := table.Result(actions[was.CallID], was.Text, was.IsError).Sections
				if len(shown) == 0 { // the output of a command
					action := actions[was.CallID]
					normal := normalOutput(&action, was.Text)
					shown = []dialect.Section{{Lines: splitLines(normal)}}
				}
				above = append(above, is.Text)
				for _, s := range shown {
					for _, line := range s.Lines {
						lines++
						if !standsIn(above, line) {
							t.Errorf("%s: message %d: %q is nowhere above", name, i, line)
						}
					}
				}
				for line := range strings.Lines(is.Text) {
					if !strings.Contains(line, "[stet: ") {
						continue // recorded text may say "written by" too
					}
					for _, id := range named.FindAllStringSubmatch(line, -1) {
						if !strings.HasPrefix(id[1], "an earlier ") && !ids[id[1]] {
							t.Errorf("%s: message %d names %q, which is not above", name, i, id[1])
						}
					}
				}
			case was.Kind == llm.ToolResult:
				above = append(above, is.Text)
			}
		}
	}
	return trims, lines
}

// named matches the ids of calls in stet's placeholders.
var named = regexp.MustCompile(`(?:shown above by|written by) ([^,()]+?)(?: \(lines| in |,|\. Ask again|\])`)

// decoded returns all strings in a call's arguments, joined by line breaks. The signs at the beginning of patch lines are
// removed.
func decoded(args string) string {
	var out strings.Builder
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			out.WriteString(v + "\n")
			for line := range strings.Lines(v) {
				if line[0] == '+' || line[0] == ' ' {
					out.WriteString(line[1:])
				}
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				walk(v[k])
			}
		}
	}
	var v any
	if json.Unmarshal([]byte(args), &v) != nil {
		v = args
	}
	walk(v)
	return out.String()
}

// standsIn reports whether one of the texts contains the line, either unchanged or as a JSON string encodes it.
func standsIn(texts []string, line string) bool {
	for _, form := range []string{line, quoting.Replace(line)} {
		for i := len(texts) - 1; i >= 0; i-- {
			if strings.Contains(texts[i], form) {
				return true
			}
		}
	}
	return false
}

// quoting writes a line as a JSON string encodes it.
var quoting = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\t", `\t`)

// Invariants 2, 4 and 5 over recorded sessions. No policy fails on them.
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
