package trim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// tried adds so many calls of commands with very short outputs.
func tried(c *conv, turns int) {
	for i := range turns {
		c.call("Bash", map[string]any{"command": fmt.Sprintf("make step%d", i)}, "done")
	}
}

// TRIM-17: the five newest results always stay, of whatever kind.
func TestNewestResultsStay(t *testing.T) {
	w := &conv{}
	w.user("go on")
	var want []int
	for i := range 8 {
		at := w.call("Bash", map[string]any{"command": fmt.Sprintf("make part%d", i)}, long(fmt.Sprint("out ", i), 900))
		if i < 3 {
			want = append(want, at)
		}
	}
	p, _ := cold(t, Config{KeepShell: 1}, w)
	var got []int
	for _, e := range p.Edits {
		got = append(got, e.Message)
	}
	if !slices.Equal(got, want) {
		t.Errorf("left out messages %v, want %v", got, want)
	}
}

// A result that shows only the output since the last such call stays, because no other call shows it again.
func TestOutputOnceStays(t *testing.T) {
	for name, args := range map[string]map[string]any{
		"write_stdin": {"session_id": 7, "chars": "y\n"}, "TaskOutput": {"task_id": "b1"}, "read_bash": {"shellId": "0"},
	} {
		for _, policy := range []Policy{KeepLatest, Bold} {
			w := &conv{}
			w.user("go on")
			w.call(name, args, long("out", 900))
			left := w.call("Bash", map[string]any{"command": "make"}, long("more", 900))
			tried(w, 31)
			p, _ := cold(t, Config{Policy: policy, KeepShell: 1}, w)
			if len(p.Edits) == 0 || p.Edits[0].Message != left {
				t.Errorf("%s under %s: %v", name, policy, p.Edits)
			}
		}
	}
}

// An issue that persons wrote stays under adaptive for a number of turns.
func TestIssueStays(t *testing.T) {
	for _, tt := range []struct {
		config Config
		turns  int
		leaves bool
	}{
		{Config{}, 20, false}, {Config{}, 31, true}, {Config{Policy: Bold}, 20, true}, {Config{Policy: Bold}, 2, false},
	} {
		w := &conv{}
		w.user("go on")
		w.call("Bash", map[string]any{"command": "gh issue view 7 --comments"}, long("it does not build", 900))
		tried(w, tt.turns)
		tt.config.KeepShell = 1
		if p, _ := cold(t, tt.config, w); len(p.Edits) > 0 != tt.leaves {
			t.Errorf("%+v, %d turns: %v", tt.config, tt.turns, p.Edits)
		}
	}
}

// TRIM-16: the read to which an agent's own stub points stays, however old it is.
func TestReadOfAStubStays(t *testing.T) {
	for _, pinned := range []bool{false, true} {
		w := &conv{}
		w.user("Working directory: /home/me/project")
		w.call("Read", `{"file_path":"/home/me/lib/a.ts"}`, lineRange(cat, 1, 60))
		if pinned {
			w.call("Read", `{"file_path":"/home/me/lib/a.ts"}`, agentsStub)
		}
		tried(w, 31)
		if p, _ := cold(t, Config{}, w); (len(p.Edits) > 0) == pinned {
			t.Errorf("pinned %v: %v", pinned, p.Edits)
		}
	}
}

// Invariant 6: a read outside the workspace leaves if no call has touched the file for thirty turns. A read of a dependency
// leaves after ten.
func TestOutsideReadsWait(t *testing.T) {
	for path, turns := range map[string]int{"/home/me/lib/a.ts": 30, "/home/me/project/vendor/x/a.ts": dependencyIdle} {
		for _, early := range []int{1, 0} {
			w := &conv{}
			w.user("Working directory: /home/me/project")
			w.call("Read", fmt.Sprintf(`{"file_path":%q}`, path), lineRange(cat, 1, 60))
			tried(w, turns-early)
			if p, _ := cold(t, Config{}, w); len(p.Edits) != 1-early {
				t.Errorf("%s, %d turns: %d left", path, turns-early, len(p.Edits))
			}
		}
	}
}

// TRK-9: a run of lines is found where they stand together, although each of them also stands alone in a newer text.
func TestLongestRunIsNotTheNewest(t *testing.T) {
	c := &conv{clock: noon}
	lines := strings.SplitAfter(lineRange("the text of line %[1]d, as the file has it", 1, 30), "\n")[:30]
	read := func(path string, lines ...string) int {
		text := ""
		for i, line := range lines {
			text += fmt.Sprintf("%6d\t%s", i+1, line)
		}
		return c.call("Read", map[string]any{"file_path": path}, text)
	}
	read("a.ts", lines...)
	backwards := slices.Clone(lines)
	slices.Reverse(backwards)
	read("b.ts", backwards...)
	moved := read("a.ts", append([]string{"a new line at the top\n"}, lines...)...)
	p := expectLeft(t, lossless(t), c, moved)
	if len(p.Edits) > 0 && !strings.Contains(p.Edits[0].Text, "shown above by call_1") {
		t.Errorf("%q", p.Edits[0].Text)
	}
}

// TRIM-11: with another language configured, the placeholder for a repeat stays English, because each placeholder has one
// language.
func TestLinesAreInOneLanguage(t *testing.T) {
	c := &conv{clock: noon}
	c.read("a.ts", 1, 60, 60)
	c.read("a.ts", 1, 60, 60)
	for _, e := range newEngine(t, Config{Policy: Lossless, Language: "zh"}).Plan(c.messages).Edits {
		if strings.ContainsFunc(e.Text, func(r rune) bool { return r > 0x2e80 }) {
			t.Errorf("%q", e.Text)
		}
	}
}
