package guard

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/tool"
)

func arguments(m map[string]any) json.RawMessage {
	b, _ := json.Marshal(m) // strings and truths
	return b
}

// about returns the question about a call.
func (r *rig) about(name string, in map[string]any) (approval.Question, Event, *call) {
	e := Event{Agent: "agent", Session: "s", Dir: r.dir, Tool: name, Input: arguments(in), Edits: true}
	c := &call{event: e, action: r.Dialects.Action(name, string(e.Input))}
	return r.question(r.session(e), c, nil), e, c
}

// What a person edited is what runs, though other arguments hold the same text as the one that was edited. (GRD-1)
func TestEditedIsWhatRuns(t *testing.T) {
	r, _ := asks(t)
	file := filepath.Join(r.dir, "same")
	for range 50 { // the order of the arguments is another one each time
		for name, in := range map[string]map[string]any{
			"Bash":  {"command": "rm x", "a": "rm x", "description": "rm x", "z": "rm x"},
			"Write": {"file_path": file, "content": file, "note": file},
		} {
			q, e, c := r.about(name, in)
			got, err := r.decided(q, e, &c.action, approval.Answer{Verdict: approval.Edit, Content: []byte("touch y"), Seal: q.Seal})
			if err != nil {
				t.Fatal(name, err)
			}
			now := r.Dialects.Action(name, string(got.Input))
			if now.Command+now.Content != "touch y" || !slices.Equal(now.Targets, c.action.Targets) {
				t.Fatalf("%s: %s runs", name, got.Input)
			}
		}
	}
}

// What cannot be shown as it is has a caution, and is not allowed for the session. (GRD-1)
func TestQuestionAttacks(t *testing.T) {
	r, _ := asks(t)
	huge := strings.Repeat("echo a long line of a command\n", 1<<16)
	for what, c := range map[string]struct {
		tool string
		in   map[string]any
		note tool.Note
		once bool
	}{
		"a huge command":               {"Bash", map[string]any{"command": huge}, tool.Large, true},
		"huge arguments":               {"mcp__shed__open", map[string]any{"door": huge}, tool.Large, true},
		"a huge difference":            {"Write", map[string]any{"file_path": filepath.Join(r.dir, "a"), "content": huge}, tool.Large, true},
		"a long name":                  {"Write", map[string]any{"file_path": filepath.Join(r.dir, strings.Repeat("n", 5000)), "content": "n\n"}, tool.Large, true},
		"a command that reads back":    {"Bash", map[string]any{"command": "echo \u202etxt.exe"}, tool.Hidden, false},
		"a name with nothing in it":    {"Write", map[string]any{"file_path": filepath.Join(r.dir, "a\u200bb"), "content": "n\n"}, tool.Hidden, false},
		"a terminal's control":         {"Bash", map[string]any{"command": "echo \x1b[2K\x1b[1A"}, tool.Hidden, false},
		"markup is nothing to hide":    {"Bash", map[string]any{"command": "echo '<b>x</b> [a](javascript:x) **y**'"}, "", false},
		"arguments that change a run":  {"Bash", map[string]any{"command": "touch a", "dangerouslyDisableSandbox": true}, "with dangerouslyDisableSandbox", false},
		"an argument that is not true": {"Bash", map[string]any{"command": "touch a", "run_in_background": false}, "", false},
	} {
		q, _, _ := r.about(c.tool, c.in)
		if c.note != "" && !slices.Contains(q.Notes, c.note) || c.note == "" && len(q.Notes) > 0 || q.Grantable == c.once {
			t.Errorf("%s: %v, grantable %t", what, q.Notes, q.Grantable)
		}
		if len(q.Diff.Other) > maxText || len(q.Path) > limits.Path || len(q.Command) > maxCommand+len("…") || c.note == tool.Large && q.Editable {
			t.Errorf("%s: %d bytes are shown, path %d, editable %t", what, len(q.Diff.Other), len(q.Path), q.Editable)
		}
	}
}

// An answer for the session covers what was shown, and nothing wider. (GRD-1)
func TestGrantDoesNotWiden(t *testing.T) {
	r, _ := asks(t)
	bash := func(in map[string]any) string { q, _, _ := r.about("Bash", in); return q.Covered() }
	granted := bash(map[string]any{"command": "touch a", "description": "one"})
	if bash(map[string]any{"command": "touch a", "description": "another"}) != granted {
		t.Error("the same command is asked about again")
	}
	for _, other := range []map[string]any{
		{"command": "touch a "}, {"command": "touch a\n"}, {"command": "touch a; rm -rf b"}, {"command": "touch  a"},
		{"command": "touch a", "dangerouslyDisableSandbox": true}, {"command": "touch a", "run_in_background": true},
	} {
		if bash(other) == granted {
			t.Errorf("%v is allowed, too", other)
		}
	}
	for _, name := range []string{"bash", "run_shell_command", "exec_command"} {
		in := func(dir string) (approval.Question, Event, *call) {
			key := map[string]string{"bash": "workdir", "run_shell_command": "dir_path", "exec_command": "workdir"}[name]
			return r.about(name, map[string]any{"command": "git push --tags", key: dir, "description": dir + "."})
		}
		q, _, c := in("src")
		other, e, o := in("docs")
		_, same, s := in("src")
		same.Input = append(same.Input, ' ')
		if q.Dir != filepath.Join(r.dir, "src") || q.Covered() == other.Covered() || c.like(&o.action, e) || !c.like(&s.action, same) {
			t.Errorf("%s: the directory of the call does not count: %q", name, q.Dir)
		}
	}
	q, _, _ := r.about("mcp__shed__open", map[string]any{"door": "left"})
	if other, _, _ := r.about("mcp__shed__close", map[string]any{"door": "left"}); other.Covered() == q.Covered() {
		t.Error("another tool is allowed, too")
	}
}

// Two calls at once make the same edit in two files. Each question and each approval is of its own file. (GRD-1)
func TestSameEditOfTwoFiles(t *testing.T) {
	r, queue := asks(t, policy.Rule{Tools: []policy.Pattern{must(policy.ParsePattern("Edit"))}, Do: policy.Ask})
	r.dialog = AfterHook
	sub := queue.Subscribe()
	defer sub.Close()
	edit := func(kind Kind, name string) Event {
		return Event{Kind: kind, Tool: "Edit", Input: arguments(map[string]any{"file_path": filepath.Join(r.dir, name), "old_string": "a", "new_string": "z"})}
	}
	approve := func(e Event, path string) Answer {
		t.Helper()
		got := r.ask(t.Context(), e)
		q := opened(t, sub)
		if q.Path != path {
			t.Errorf("%s is asked about, not %s", q.Path, path)
		}
		if err := queue.Answer(q.ID, approval.Answer{Verdict: approval.Approve, Seal: q.Seal}); err != nil {
			t.Fatal(err)
		}
		return <-got
	}
	r.write("b.txt", "a\n")
	approve(edit(Before, "a.txt"), "a.txt")
	approve(edit(Before, "b.txt"), "b.txt")
	approve(edit(Asking, "a.txt"), "a.txt")
	r.handle(edit(After, "a.txt"))
	r.handle(edit(After, "b.txt"))
	approve(edit(Asking, "a.txt"), "a.txt")
	approve(edit(Before, "b.txt"), "b.txt") // asked about, though an edit with this text was just approved
}
