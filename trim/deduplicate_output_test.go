package trim

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stet-dev/stet/llm"
)

// An output that stands in the request already becomes one line. If the command is run again at once, its output is in full. If
// an output is new in part, only the new lines are sent.
func TestOutputRepeated(t *testing.T) {
	c := &conv{clock: noon}
	run := func(command, output string) int {
		return c.call("terminal-execute", map[string]any{"command": command}, output)
	}
	list := lineRange("%.0sok the package number %d has passed", 1, 30)
	run("go test ./...", list)
	again := run("go test ./...", list)
	run("go test ./...", list) // asks again
	part := run("go test -v ./...", "go: downloading\n"+list+"FAIL one more\n")
	p := expectLeft(t, lossless(t), c, again, part)
	if text := p.Edits[0].Text; text != "[stet: output lines 1-30 unchanged: shown above by call_1 (lines 1-30). Ask again for the full text.]\n" {
		t.Errorf("%q", text)
	}
	if text := p.Edits[1].Text; !strings.HasPrefix(text, "go: downloading\n") || !strings.HasSuffix(text, "FAIL one more\n") ||
		!strings.Contains(text, "output lines 2-31 unchanged: shown above by call_3 (lines 1-30 there)") {
		t.Errorf("%q", text)
	}
}

// If a file was changed in between, running a command again is not asking again.
func TestOutputAskedAgain(t *testing.T) {
	c := &conv{clock: noon}
	list := lineRange("%.0sok the package number %d has passed", 1, 30)
	run := func() int { return c.call("terminal-execute", `{"command":"go test ./..."}`, list) }
	run()
	second := run()
	c.call("filesystem-create", map[string]any{"filePath": "a.go", "content": "package a\n"}, "Written.")
	third := run()
	run()
	expectLeft(t, lossless(t), c, second, third)
}

// TRIM-3: a failed output stays, and no pointer names it.
func TestFailedOutputStays(t *testing.T) {
	c := &conv{clock: noon}
	text := "Exit code 1\n" + lineRange("%.0sFAIL the package number %d", 1, 30)
	for range 3 {
		c.call("Bash", `{"command":"go test ./..."}`, text, true)
	}
	expectLeft(t, lossless(t), c)
}

// A plan that a person agreed to stands in the arguments of its call. The result that repeats it becomes a pointer.
func TestPlanEchoed(t *testing.T) {
	c := &conv{clock: noon}
	plan := "# The plan\n" + lineRange("%.0s- step number %d of the plan", 1, 30)
	at := c.call("ExitPlanMode", map[string]any{"plan": plan}, "User has approved your plan.\n\n## Approved Plan:\n"+plan)
	p := expectLeft(t, lossless(t), c, at)
	if text := p.Edits[0].Text; !strings.HasPrefix(text, "User has approved") || !strings.Contains(text, "written by call_1 (lines 1-31 there)") {
		t.Errorf("%q", text)
	}
}

// Invariant 6: if a command prints text of files, the output is not brought to its normal form, because edits are made from it.
// Carriage returns, colours and repeated lines stay.
func TestFilesInOutputsStayAsTheyAre(t *testing.T) {
	diff := "\x1b[1mdiff --git a/a.txt b/a.txt\x1b[m\n\x1b[36m@@ -1,2 +1,2 @@\x1b[m\n a\rb\n"
	for _, tt := range []struct{ command, output string }{
		{"git show HEAD:a.txt", "first line\rsecond line\rthird line\r"},
		{"git show HEAD:a.txt", "PROGRESS = 'a\rb'\nx = 1\n"},
		{"git show HEAD:a.txt", "RED = '\x1b[31m'\nprint(RED)\n"},
		{"awk 1 a.txt", strings.Repeat("        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,\n", 12)},
		{"make", diff},
	} {
		c := &conv{clock: noon}
		c.call("Bash", map[string]any{"command": tt.command}, tt.output)
		expectLeft(t, lossless(t), c)
	}
}

// Invariants 4 and 7: a command whose output was brought to its normal form is run again. Then its output is sent byte for byte.
// That also holds if the planned request is planned again.
func TestNormalFormAskedAgain(t *testing.T) {
	c := &conv{clock: noon}
	run := func(output string) int {
		return c.call("Bash", map[string]any{"command": "go test ./..."}, output)
	}
	progress := "10 %\r50 %\r100 %\n\x1b[32mok\x1b[0m the package\n"
	first := run(progress)
	run(progress) // asks again
	third := run(progress)
	c.call("filesystem-create", map[string]any{"filePath": "a.go", "content": "package a\n"}, "Written.")
	changed := run(progress)
	e := lossless(t)
	p := expectLeft(t, e, c, first, third, changed)
	if text := p.Edits[0].Text; text != "100 %\nok the package\n" {
		t.Errorf("%q", text)
	}
	out := llm.Apply(c.messages, p.Edits)
	if again := e.Plan(out); len(again.Edits) > 0 {
		t.Errorf("planned again, message %d becomes %q", again.Edits[0].Message, again.Edits[0].Text)
	}
}

// The normal form is what a terminal would show at the end, if that is certain. Otherwise a line stays unchanged (invariant 1:
// nothing is altered).
func TestTerminal(t *testing.T) {
	same := strings.Repeat("downloading, please wait for it\n", 12)
	for in, want := range map[string]string{
		"plain\ntext\n":                          "plain\ntext\n",
		"\x1b[1;32mok\x1b[0m pkg\n":              "ok pkg\n",
		"\x1b[?25l\x1b[31mno\x1b(B\x1b[m\n":      "no\n",
		"10 %\r50 %\r100 %\ndone":                "100 %\ndone",
		"a long state\rshort\n":                  "a long state\rshort\n", // some of it stays
		"a long state\r\x1b[Kshort\n":            "short\n",
		"a long state\rshort\x1b[K\n":            "short\n",
		"\x1b[2K\rone\x1b[2K\rtwo\n":             "two\n",
		"\x1b[2K\x1b[1Gone\x1b[2K\x1b[1Gtwo\n":   "two\n",
		"日本語\r\x1b[Kdone\n":                      "done\n",
		"██░░ 50 %\r████ 99 %\n":                 "████ 99 %\n",
		"abcd\re\u0301f\u0301\n":                 "abcd\re\u0301f\u0301\n", // "cd" is still shown
		"abcd\ra\tb\x1b[K\n":                     "abcd\ra\tb\x1b[K\n",
		"dos\r\nlines\r\n":                       "dos\r\nlines\r\n",
		"é1\ré2\n":                               "é2\n",
		"begin\n" + same + "end\n":               "begin\ndownloading, please wait for it\n[stet: the line above, 12 times in all]\nend\n",
		"a\na\na\na\n":                           "a\na\na\na\n",
		"\x1b[31mred\x1b[0m\ncol1\x1b[20Gcol2\n": "red\ncol1\x1b[20Gcol2\n",
	} {
		if got := terminal(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for _, in := range []string{
		"lone \x1b", "col1\x1b[20Gcol2\n", "x\x1b[2Ky\n", "x\x1b[2K\n", "abc\x1b[1D\x1b[1DXY\n", "a\bb\n", "one\ntwo\x1b[1A\x1b[2Kone b\n",
		"\x1b]8;;x\x1b\\l\n", "日本語\rdone\n", "a\tb\rc\n", "\x1b\x1b[31m[Kx\n", "\x1b[\x1b[31mKx\n", "bad \xff\x1b[0m\n", "ok\r日\n", "\x1b[31m\x1b[20Gx\n",
		"\x1b[0m\n", "\x1b[?25l\x1b[?25h", "\x1b[31m", // without them nothing would be left
	} {
		if got := terminal(in); got != in {
			t.Errorf("%q became %q", in, got)
		}
	}
}

// TRIM-13: a result of only escape codes stays, because providers refuse a result of only white space.
func TestBlankOutputStays(t *testing.T) {
	c := &conv{clock: noon}
	c.call("Bash", `{"command":"clear && tput reset"}`, "\x1b[H\x1b[2J\x1b[3J\x1b[0m\n")
	c.call("Bash", `{"command":"tput sgr0"}`, "\x1b(B\x1b[m\x1b[?25h\n")
	expectLeft(t, lossless(t), c)
}

// The normal form of a normal form is the same text. It is not longer than the output, and plain text does not change.
func TestTerminalProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(0, 30).Draw(t, "parts") {
			b.WriteString(rapid.SampledFrom([]string{
				"a line of output that is long enough to be worth a count\n", "other", "\n", "\r", "\x1b[K", "\x1b[2K", "\x1b[1G", "\x1b[31m", "\x1b", "[", "m", "\b", "\t", "日", "\r\n", "ü", "[stet: ",
			}).Draw(t, "part"))
		}
		in := b.String()
		out := terminal(in)
		if terminal(out) != out {
			t.Fatalf("%q becomes %q, and then %q", in, out, terminal(out))
		}
		if len(out) > len(in) {
			t.Fatalf("%q becomes longer: %q", in, out)
		}
	})
}

func FuzzTerminal(f *testing.F) {
	f.Add("a\x1b[1mb\rc\n")
	f.Fuzz(func(t *testing.T, in string) {
		if out := terminal(in); terminal(out) != out {
			t.Fatalf("%q becomes %q, and then %q", in, out, terminal(out))
		}
	})
}

// An output that contains pointers was planned before. Its other lines count as shown.
func TestOwnPointerInAnOutput(t *testing.T) {
	c := &conv{clock: noon}
	list := func(a, b int) string { return lineRange("%.0sok the package number %d has passed", a, b) }
	run := func(i int, output string) int {
		return c.call("terminal-execute", fmt.Sprintf(`{"command":"run %d"}`, i), output)
	}
	run(1, list(1, 30))
	run(2, "[stet: output lines 1-27 unchanged: shown above by call_1 (lines 1-30). Ask again for the full text.]\n"+list(28, 70))
	at := run(3, list(40, 70))
	p := expectLeft(t, lossless(t), c, at)
	if !strings.Contains(p.Edits[0].Text, "shown above by call_2 (lines 40-70 there)") {
		t.Errorf("%q", p.Edits[0].Text)
	}
}

// Invariant 4: planning a planned request again changes nothing, for outputs that are in their normal form in some places only,
// that are repeated, and that failed.
func TestNormalFormIsPlannedOnce(t *testing.T) {
	e := lossless(t)
	rapid.Check(t, func(t *rapid.T) {
		c := &conv{clock: noon}
		for range rapid.IntRange(1, 12).Draw(t, "runs") {
			if rapid.IntRange(0, 5).Draw(t, "write") == 0 {
				c.call("filesystem-create", map[string]any{"filePath": "a.go", "content": "package a\n"}, "Written.")
			}
			parts := rapid.SliceOfN(rapid.SampledFrom([]string{
				"10 %\r100 %\n", "\x1b[32mok\x1b[0m the package has passed\n", "\x1b[36m@@ -1,2 +1,2 @@\x1b[m\n",
				lineRange("ok the package number %[1]d has passed", 1, 12), strings.Repeat("downloading, please wait for it\n", 12),
			}), 0, 4).Draw(t, "output")
			command := rapid.SampledFrom([]string{"make", "git show HEAD:a.go"}).Draw(t, "command")
			failed := []bool{true}[:rapid.IntRange(0, 3).Draw(t, "failed")/3]
			c.call("Bash", map[string]any{"command": command}, strings.Join(parts, ""), failed...)
		}
		p := e.Plan(c.messages)
		if again := e.Plan(llm.Apply(c.messages, p.Edits)); len(again.Edits) > 0 {
			t.Fatalf("planned again, message %d becomes %q", again.Edits[0].Message, again.Edits[0].Text)
		}
		n := rapid.IntRange(0, len(c.messages)).Draw(t, "prefix")
		for i, edit := range e.Plan(c.messages[:n]).Edits {
			if p.Edits[i] != edit {
				t.Fatalf("the plan of %d messages is no prefix", n)
			}
		}
	})
}
