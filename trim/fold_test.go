package trim

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stet-dev/stet/llm"
)

var foldLine = regexp.MustCompile(`(?m)^\[stet: ([0-9,]+) of ([0-9,]+) lines left out; run "stet show ([0-9a-f]{16}) (\d+)(?:-(\d+))?" to see them\]\n`)

// fataler is a test, or a run of a property test.
type fataler interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// unfold puts back the lines that the folds left out, as the agent can with the command.
func unfold(t fataler, sent string, folds []Fold) string {
	t.Helper()
	return foldLine.ReplaceAllStringFunc(sent, func(line string) string {
		m := foldLine.FindStringSubmatch(line)
		number := func(s string) int {
			n, err := strconv.Atoi(strings.ReplaceAll(s, ",", ""))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		for _, f := range folds {
			if f.ID != m[3] {
				continue
			}
			lines := strings.SplitAfter(f.Text, "\n")
			if lines[len(lines)-1] == "" {
				lines = lines[:len(lines)-1]
			}
			first := number(m[4])
			last := first
			if m[5] != "" {
				last = number(m[5])
			}
			if number(m[1]) != last-first+1 || number(m[2]) != len(lines) {
				t.Errorf("%q counts wrongly: the output has %d lines", line, len(lines))
			}
			return strings.Join(lines[first-1:last], "")
		}
		t.Errorf("no text is kept for %q", line)
		return line
	})
}

// output returns a report of n lines of passing tests, with a warning in line 99.
func output(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		switch i {
		case 99:
			b.WriteString("warning: TestOther is deprecated\n")
		case 140:
			b.WriteString("    main_test.go:17: it is looked at\n")
		default:
			fmt.Fprintf(&b, "=== RUN   TestNumber%d of the package that is tested\n", i)
		}
	}
	return b.String()
}

func hits(files, each int) string {
	var b strings.Builder
	for f := range files {
		for i := range each {
			fmt.Fprintf(&b, "src/file%d.go:%d:	what was found in line %d of the file\n", f, 10*i+1, 10*i+1)
		}
	}
	return b.String()
}

func TestFold(t *testing.T) {
	shell := func(command, output string, failed ...bool) func(c *conv) int {
		return func(c *conv) int { return c.call("Bash", map[string]any{"command": command}, output, failed...) }
	}
	after := func(steps ...func(c *conv) int) func(c *conv) int {
		return func(c *conv) (at int) {
			for _, do := range steps {
				at = do(c)
			}
			return at
		}
	}
	fetched := func(c *conv) int {
		return c.call("WebFetch", map[string]any{"url": "https://example.com"}, output(300))
	}
	edit := func(c *conv) int {
		return c.call("Edit", map[string]any{"file_path": "a.go", "old_string": "a", "new_string": "b"}, "Edited.")
	}
	failing := func(line string) string { return output(150) + line + "\n" + output(150) }
	const never, bound, always = 0, 1, 2 // bound: if thinking is checked
	for _, tt := range []struct {
		name  string
		do    func(c *conv) int // returns the message to look at
		folds int
	}{
		{"test", shell("go test -v ./...", output(300)), always},
		{"build behind a filter", shell("cd src && make 2>&1 | tail -400", output(300)), always},
		{"in a shell", shell("bash -lc 'npm test'", output(300)), always},
		{"page", shell("curl -s https://example.com", output(300)), bound},
		{"page, by an agent with a shell", after(shell("ls", "a.go"), fetched), bound},
		{"log", shell("kubectl logs web", output(300)), always},
		{"log of commits", shell("git log", output(300)), always},
		{"search", shell("rg -n found src", hits(10, 30)), bound},
		{"test, then a page", shell("npm test; curl -s https://example.com", output(300)), bound},
		{"again, after a change", after(shell("go test ./...", output(300)), edit, shell("go test ./...", output(299))), always},

		{"page, by an agent without a shell", fetched, never},
		{"short", shell("go test ./...", output(50)), never},
		{"one line", shell("curl -s https://example.com", strings.Repeat("x", 9000)), never},
		{"failed", shell("go test ./...", output(300), true), never},
		{"failed, by its code", shell("go test ./...", "Exit code: 1\nWall time: 1 seconds\nOutput:\n"+output(300)), never},
		{"failed, by what it says", shell("go test ./... | tail -500", failing("--- FAIL: TestOther (0.01s)")), never},
		{"failed, by a count", shell("npm test", failing("Tests: 3 failed, 97 passed")), never},
		{"failed, by a mark", shell("npm test", failing("  ✗ adds numbers")), never},
		{"failed, by a compiler", shell("make", failing("src/a.c:7:12: unknown type")), never},
		{"failed, by an exit code in the text", shell("npm test", failing("npm exited with code 3")), never},
		{"no failures", shell("npm test", failing("Tests: 0 failed, 97 passed; 0 errors")), always},
		{"short search", shell("rg -n found src", hits(10, 10)), never},
		{"file", shell("cat a.txt", output(300)), never},
		{"file, then a test", shell("cat a.txt; go test ./...", output(300)), never},
		{"difference", shell("gh run view 3 --log", "diff --git a/a b/a\n"+output(300)), never},
		{"unknown program", shell("./report", output(300)), never},
		{"issue", shell("gh issue view 3", output(300)), never},
		{"file from the web's scheme", shell("curl file:///a.txt", output(300)), never},
		{"search of few files", shell("rg -n found src", hits(3, 100)), never},
		{"search of one file", shell("grep -n found a.go", output(300)), never},
		{"search with context", shell("rg -n -C 3 found src", hits(10, 30)), never},
		{"again", after(shell("go test ./...", output(300)), shell("go test ./...", output(299))), never},
		{"what was left out", after(shell("go test ./...", output(300)), shell("stet show 0123456789abcdef 40-200", output(280))), never},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &conv{}
			c.user("go on")
			at := tt.do(c)
			for _, leaves := range []Config{{}, {ChecksThinking: true, Clears: true}} {
				leaves.Policy, leaves.Fold = Bold, true
				free := newEngine(t, leaves).Plan(c.messages)
				if folds := len(free.Folds) > 0 && foldLine.MatchString(llm.Apply(c.messages, free.Edits)[at].Parts[0].Text); folds != (tt.folds == always) {
					t.Fatalf("folds %v where what was sent may leave: %+v", folds, leaves)
				}
			}
			e := newEngine(t, Config{Policy: Bold, Fold: true, ChecksThinking: true})
			p := e.Plan(c.messages)
			out := llm.Apply(c.messages, p.Edits)
			was, is := c.messages[at].Parts[0].Text, out[at].Parts[0].Text
			if folds := foldLine.MatchString(is); folds != (tt.folds >= bound) {
				t.Fatalf("folds %v: %.300q", folds, is)
			}
			if tt.folds == never {
				return
			}
			if got := unfold(t, is, p.Folds); !sameOutput(got, was) {
				t.Errorf("what is left out and what stays are not the output: %s", cmp.Diff(was, got))
			}
			if 2*len(is) > len(was) {
				t.Errorf("%d of %d bytes stay", len(is), len(was))
			}
			if again := e.Plan(out); len(again.Edits) > 0 {
				t.Errorf("planned again: %+v", again.Edits)
			}
		})
	}
}

// These lines of a report stay: both ends, warnings, and lines that name a file on which the agent works. Of a search, the first
// line of each file stays.
func TestFoldKeeps(t *testing.T) {
	c := &conv{}
	c.user("go on")
	c.read("src/main_test.go", 1, 9, 9)
	report := c.call("Bash", map[string]any{"command": "go test -v ./..."}, output(300))
	search := c.call("Bash", map[string]any{"command": "rg -n found src"}, hits(10, 30)+strings.Repeat("src/main_test.go:7: what was found\n", 12))
	out := llm.Apply(c.messages, newEngine(t, Config{Policy: Bold, Fold: true, ChecksThinking: true}).Plan(c.messages).Edits)
	want := func(at int, lines ...string) {
		t.Helper()
		for _, line := range lines {
			if !strings.Contains(out[at].Parts[0].Text, line+"\n") {
				t.Errorf("%q is left out of:\n%s", line, out[at].Parts[0].Text)
			}
		}
	}
	want(report, "=== RUN   TestNumber1 of the package that is tested", "=== RUN   TestNumber300 of the package that is tested",
		"warning: TestOther is deprecated", "    main_test.go:17: it is looked at")
	for f := range 10 {
		want(search, fmt.Sprintf("src/file%d.go\n1:	what was found in line 1 of the file", f))
	}
	if n := strings.Count(out[search].Parts[0].Text, "7: what was found\n"); n != 12 {
		t.Errorf("%d of 12 lines of the file at work stay", n)
	}
}

// Of a fetched page, the lines stay that contain a word of the question.
func TestFoldKeepsAsked(t *testing.T) {
	c := &conv{}
	c.user("go on")
	c.call("Bash", map[string]any{"command": "ls"}, "a.go")
	page := c.call("WebFetch", map[string]any{"url": "https://example.com/docs", "prompt": "How is the retention set?"},
		output(150)+"## The retention\nIt is a number of days.\n"+output(150))
	out := llm.Apply(c.messages, newEngine(t, Config{Policy: Bold, Fold: true, ChecksThinking: true}).Plan(c.messages).Edits)
	if text := out[page].Parts[0].Text; !strings.Contains(text, "lines left out") || !strings.Contains(text, "\n## The retention\nIt is a number of days.\n") {
		t.Errorf("what stays is %s", text)
	}
}

// A search in files with very long lines is not folded if no found line would stay.
func TestFoldOfLongLines(t *testing.T) {
	var b strings.Builder
	b.WriteString("Output:\n")
	for i := range 20 {
		fmt.Fprintf(&b, "dist/file%d.js:1:%s\n", i, strings.Repeat("found in one line ", 100))
	}
	b.WriteString("done\n")
	c := &conv{}
	c.user("go on")
	c.call("Bash", map[string]any{"command": "rg -n found dist"}, b.String())
	if p := newEngine(t, Config{Policy: Bold, Fold: true, ChecksThinking: true}).Plan(c.messages); len(p.Folds) > 0 {
		t.Error("it is folded")
	}
}

// Outputs are folded only under bold, if the agent can see what was left out.
func TestFoldNeeds(t *testing.T) {
	c := &conv{}
	c.user("go on")
	c.call("Bash", map[string]any{"command": "go test -v ./..."}, output(300))
	for name, config := range map[string]Config{
		"adaptive": {Fold: true}, "lossless": {Policy: Lossless, Fold: true}, "not asked for": {Policy: Bold},
	} {
		if p := newEngine(t, config).Plan(c.messages); len(p.Edits)+len(p.Folds) > 0 {
			t.Errorf("%s: %+v", name, p.Omissions)
		}
	}
}

// An output that was folded when it came stays folded in the same way, and another output stays whole. That holds whatever
// follows, and at cold points, until the whole output leaves.
func TestFoldStays(t *testing.T) {
	for name, e := range map[string]*Engine{
		"checked": newEngine(t, Config{Policy: Bold, Fold: true, KeepShell: 100, ChecksThinking: true}),
		"free":    newEngine(t, Config{Policy: Bold, Fold: true, KeepShell: 100}),
	} {
		t.Run(name, func(t *testing.T) { foldsStay(t, e) })
	}
}

func foldsStay(t *testing.T, e *Engine) {
	printed := []string{hits(10, 30), hits(9, 30), output(300), output(200)}
	rapid.Check(t, func(t *rapid.T) {
		c := &conv{}
		c.user("go on")
		outputs := map[int]string{}
		for i := range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				c.read(fmt.Sprintf("src/file%d.go", rapid.IntRange(0, 3).Draw(t, "file")), 1, 20, 20)
			case 1:
				c.call("Edit", map[string]any{"file_path": "a.go", "old_string": "a", "new_string": "b"}, "Edited.")
			default:
				text := printed[rapid.IntRange(0, len(printed)-1).Draw(t, "output")]
				command := rapid.SampledFrom([]string{"rg -n found src", "go test -v ./...", fmt.Sprint("npm test ", i)}).Draw(t, "command")
				outputs[c.call("Bash", map[string]any{"command": command}, text)] = text
			}
		}
		st := e.NewState()
		first := map[int]string{}
		for i := range c.messages {
			st.Add(c.messages[i])
			if rapid.IntRange(0, 9).Draw(t, "cold") == 0 {
				st.Cold(Gap)
			}
			p := st.Plan()
			out := llm.Apply(c.messages[:i+1], p.Edits)
			for at, was := range outputs {
				if at > i {
					continue
				}
				is := out[at].Parts[0].Text
				if foldLine.MatchString(is) && !sameOutput(unfold(t, is, p.Folds), was) {
					t.Fatalf("message %d is not whole with what was left out", at)
				}
				if first[at] == "" {
					first[at] = is
				}
				if foldLine.MatchString(first[at]) && is != first[at] {
					t.Fatalf("message %d was sent as %.200q, and is now %.200q", at, first[at], is)
				}
			}
		}
	})
}

// sameOutput reports whether a text is what a command printed, its normal form, or its grouped form.
func sameOutput(text, printed string) bool {
	return text == printed || text == terminal(printed) || text == grouped(printed)
}

// In recorded sessions, a folded output with its missing lines put back is the whole output.
func TestRecordedFolds(t *testing.T) {
	e := newEngine(t, Config{Policy: Bold, Fold: true, ChecksThinking: true})
	n, saved := 0, 0
	recordings(t, func(t *testing.T, name string, messages []llm.Message) {
		p := e.Plan(messages)
		out := llm.Apply(messages, p.Edits)
		for _, o := range p.Omissions {
			if o.Reason != Folded {
				continue
			}
			n, saved = n+1, saved+o.Before-o.After
			was := messages[o.Message].Parts[o.Part].Text
			if got := unfold(t, out[o.Message].Parts[o.Part].Text, p.Folds); !sameOutput(got, was) {
				t.Errorf("%s: message %d: %s", name, o.Message, cmp.Diff(was, got))
			}
		}
	})
	t.Logf("%d outputs were folded, %d bytes left out", n, saved)
	if n == 0 {
		t.Error("nothing was folded: the test tests nothing")
	}
}
