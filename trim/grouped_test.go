package trim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/dialect"
)

// Grouping pays for paths of this length.
const hitsDir = "internal/some/directory/"

func TestGrouped(t *testing.T) {
	found := func(file string, from, to int, mark string) string {
		var b strings.Builder
		for n := from; n <= to; n++ {
			fmt.Fprintf(&b, "%s%s%s%d%s\ttext %d\n", hitsDir, file, mark, n, mark, n)
		}
		return b.String()
	}
	under := func(from, to int, mark string) string {
		var b strings.Builder
		for n := from; n <= to; n++ {
			fmt.Fprintf(&b, "%d%s\ttext %d\n", n, mark, n)
		}
		return b.String()
	}
	head := func(file string) string { return hitsDir + file + "\n" }
	for _, tt := range []struct{ name, text, want string }{
		{"two files", found("a.go", 8, 20, ":") + found("b.go", 3, 4, ":"), head("a.go") + under(8, 20, ":") + "\n" + head("b.go") + under(3, 4, ":")},
		{"with the lines around", found("a.go", 9, 9, "-") + found("a.go", 10, 10, ":") + found("a.go", 11, 11, "-") + "--\n" + found("a.go", 20, 30, ":") + "--\n" + found("b.go", 7, 8, "-"),
			head("a.go") + under(9, 9, "-") + under(10, 10, ":") + under(11, 11, "-") + "--\n" + under(20, 30, ":") + "--\n" + head("b.go") + under(7, 8, "-")},
		{"between other lines", "Exit code: 0\nOutput:\n" + found("a.go", 8, 20, ":") + "== and\n" + found("b.go", 3, 9, ":"),
			"Exit code: 0\nOutput:\n" + head("a.go") + under(8, 20, ":") + "\n== and\n" + head("b.go") + under(3, 9, ":")},
		{"a drive", strings.ReplaceAll(found("a.go", 8, 20, ":"), hitsDir, `C:\some\directory\`), "C:\\some\\directory\\a.go\n" + under(8, 20, ":")},
		{"numbers in names", found("2026-10-04-a.md", 8, 20, ":") + found("2026-11-04-b.md", 3, 9, ":"), head("2026-10-04-a.md") + under(8, 20, ":") + "\n" + head("2026-11-04-b.md") + under(3, 9, ":")},
		{"numbers in names, around", found("step-2-a.md", 8, 20, "-"), head("step-2-a.md") + under(8, 20, "-")},
		{"places in texts", strings.ReplaceAll(found("a.log", 8, 20, "-"), "text ", "b.go:7: text "), head("a.log") + strings.ReplaceAll(under(8, 20, "-"), "text ", "b.go:7: text ")},
		{"names that go on with a number", found("app", 8, 20, ":") + found("app-2024-01", 5, 20, ":"), head("app") + under(8, 20, ":") + "\n" + head("app-2024-01") + under(5, 20, ":")},
		{"names with a number, one more", found("week-1-mon", 8, 20, ":") + found("week-2-tue", 9, 20, ":"), head("week-1-mon") + under(8, 20, ":") + "\n" + head("week-2-tue") + under(9, 20, ":")},
		{"columns", strings.ReplaceAll(found("a.go", 8, 20, ":"), "\t", "5:\t"), head("a.go") + strings.ReplaceAll(under(8, 20, ":"), "\t", "5:\t")},
		{"without an end", strings.TrimSuffix(found("a.go", 8, 20, ":"), "\n"), head("a.go") + strings.TrimSuffix(under(8, 20, ":"), "\n")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := grouped(tt.text); got != tt.want {
				t.Error(cmp.Diff(tt.want, got))
			}
		})
	}
	for name, text := range map[string]string{
		"too little":                   found("a.go", 8, 12, ":"),
		"lines of a file without path": found("a.go", 8, 20, ":") + "7:\ttext of another one\n",
		"the same, further down":       found("a.go", 8, 20, ":") + "--\n\n7:\ttext of another one\n",
		"times":                        strings.Repeat("2026-05-01T12:30:15 it was done, and done again, and once more\n", 20),
		"dates":                        strings.Repeat("01/May/2026:12:30:15 it was done, and done again, and once more\n", 20),
		"sentences":                    strings.Repeat("see some/directory/a.go:12: it was done, and done again\n", 20),
		"no numbers":                   strings.Repeat("some/directory/a.go: it was done, and done again, and once more\n", 20),
	} {
		if got := grouped(text); got != text {
			t.Errorf("%s: %s", name, cmp.Diff(text, got))
		}
	}
}

// ungrouped returns the found lines of a search, each with its path, from the plain form or the grouped form.
func ungrouped(text string) (out []string) {
	lines := strings.SplitAfter(text, "\n")
	with := make([]string, len(lines))
	for _, rows := range dialect.SearchRows(lines) {
		for i, start := range rows.Starts {
			if start > 0 {
				with[rows.From+i] = lines[rows.From+i]
			}
		}
	}
	path := ""
	for i, line := range lines {
		n, mark := dialect.LineNumber(line)
		switch {
		case with[i] != "":
			out = append(out, with[i])
		case n > 0:
			out = append(out, path+string(mark)+line)
		default:
			path = strings.TrimSuffix(line, "\n")
		}
	}
	return out
}

// checkSearch checks that each line that a search found stands with its path in what was sent, or where a pointer says (TRIM-16).
func checkSearch(t fataler, messages, sent []llm.Message, i int) {
	t.Helper()
	if got, want := ungrouped(wholeOutput(t, sent, i)), ungrouped(messages[i].Parts[0].Text); !slices.Equal(got, want) {
		t.Fatal(fmt.Sprintf("message %d: %s\nsent: %s", i, cmp.Diff(want, got), sent[i].Parts[0].Text))
	}
}

// wholeOutput returns what was sent as the result in message i, with each pointer replaced by the lines it stands for.
func wholeOutput(t fataler, sent []llm.Message, i int) string {
	t.Helper()
	return ownLine.ReplaceAllStringFunc(sent[i].Parts[0].Text, func(line string) string {
		m := ownLine.FindStringSubmatch(line)
		first, _ := strconv.Atoi(m[2])
		last, _ := strconv.Atoi(m[3])
		var lines []string
		take := func(call, from, to string) {
			a, _ := strconv.Atoi(from)
			b, _ := strconv.Atoi(to)
			for j := range i {
				if p := &sent[j].Parts[0]; p.Kind == llm.ToolResult && p.CallID == call {
					all := strings.Split(wholeOutput(t, sent, j), "\n")
					lines = append(lines, all[a-1:max(a, b)]...)
				}
			}
		}
		if plainly := ownShown.FindAllStringSubmatch(m[4], -1); strings.HasPrefix(m[4], "shown above by") && len(plainly) > 0 {
			for _, p := range plainly {
				a, _ := strconv.Atoi(p[2])
				b, _ := strconv.Atoi(p[3])
				take(p[1], strconv.Itoa(max(a, first)), strconv.Itoa(min(b, last)))
			}
		} else {
			for _, p := range ownPiece.FindAllStringSubmatch(m[4], -1) {
				take(p[4], p[5], p[6])
			}
		}
		if len(lines) != last-first+1 {
			t.Fatal(fmt.Sprintf("message %d: %d lines stand where it says: %s", i, len(lines), line))
		}
		return strings.Join(lines, "\n")
	})
}

// A search that is made again is sent as the tool printed it. Older rules group nothing.
func TestSearchAgain(t *testing.T) {
	search := func(c *conv) int {
		return c.call("Grep", map[string]any{"pattern": "found", "output_mode": "content"}, hits(3, 30))
	}
	c := &conv{}
	c.user("go on")
	first, again := search(c), search(c)
	out := sentBy(t, Config{Policy: Lossless}, c)
	if out[first] != grouped(hits(3, 30)) || out[first] == hits(3, 30) {
		t.Errorf("the first one is %.200s", out[first])
	}
	if out[again] != hits(3, 30) {
		t.Errorf("the second one is %.200s", out[again])
	}
}

func sentBy(t *testing.T, config Config, c *conv) (texts []string) {
	t.Helper()
	for _, m := range llm.Apply(c.messages, newEngine(t, config).Plan(c.messages).Edits) {
		texts = append(texts, m.Parts[0].Text)
	}
	return texts
}

// Two searches found some lines in common. Pointers say where these lines stand, and each line stays below its path.
func TestSearchesShareLines(t *testing.T) {
	c := &conv{}
	c.user("go on")
	a := c.call("Bash", map[string]any{"command": "rg -n found src"}, hits(2, 40))
	b := c.call("Bash", map[string]any{"command": "rg -n 'found|other' src"}, hits(1, 30)+"src/file0.go:999:\tthe other one\n"+hits(3, 20))
	p := newEngine(t, Config{Policy: Lossless}).Plan(c.messages)
	out := llm.Apply(c.messages, p.Edits)
	if got := out[b].Parts[0].Text; strings.Count(got, "[stet: ") < 2 || !strings.Contains(got, "src/file0.go\n[stet: ") {
		t.Errorf("the second one is %s", got)
	}
	checkSearch(t, c.messages, out, a)
	checkSearch(t, c.messages, out, b)
}

func FuzzGrouped(f *testing.F) {
	f.Add(hits(3, 30))
	f.Add("src/a.go-1-x\nsrc/a.go:2:y\n--\n/p/src/a.go-3-z\n" + hits(2, 20))
	f.Fuzz(func(t *testing.T, text string) {
		out := grouped(text)
		if grouped(out) != out || len(out) > len(text) {
			t.Errorf("grouped twice it differs, or it is longer: %q", out)
		}
		if out != text && len(ungrouped(out)) < len(ungrouped(text)) {
			t.Errorf("of %d rows %d are left", len(ungrouped(text)), len(ungrouped(out)))
		}
	})
}

// fataler is a test, or a run of a property test.
type fataler interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// hits returns what a search prints that finds lines in files.
func hits(files, each int) string {
	var b strings.Builder
	for f := range files {
		for i := range each {
			fmt.Fprintf(&b, "src/file%d.go:%d:	what was found in line %d of the file\n", f, 10*i+1, 10*i+1)
		}
	}
	return b.String()
}
