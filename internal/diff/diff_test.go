package diff

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestUnified(t *testing.T) {
	tests := []struct{ name, old, new, want string }{
		{"equal", "a\n", "a\n", ""},
		{"created", "", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"emptied", "a\nb\n", "", "@@ -1,2 +0,0 @@\n-a\n-b\n"},
		{"one line", "a\n", "b\n", "@@ -1 +1 @@\n-a\n+b\n"},
		{"context", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
			"@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n"},
		{"two hunks", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "x\n2\n3\n4\n5\n6\n7\n8\ny\n",
			"@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n@@ -6,4 +6,4 @@\n 6\n 7\n 8\n-9\n+y\n"},
		{"one hunk of two", "1\n2\n3\n4\n5\n6\n7\n8\n", "x\n2\n3\n4\n5\n6\n7\ny\n",
			"@@ -1,8 +1,8 @@\n-1\n+x\n 2\n 3\n 4\n 5\n 6\n 7\n-8\n+y\n"},
		{"final newline lost", "a\nb\n", "a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n"},
		{"final newline won", "a\nb", "a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"},
		{"no final newline on either", "a\nb", "c\nb", "@@ -1,2 +1,2 @@\n-a\n+c\n b\n\\ No newline at end of file\n"},
		{"line end", "a\r\nb\n", "a\nb\n", "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\n"},
		{"slides down", "f {\n}\n\ng {\n}\n", "f {\n}\n\nh {\n}\n\ng {\n}\n",
			"@@ -1,5 +1,8 @@\n f {\n }\n \n+h {\n+}\n+\n g {\n }\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Lines(tt.old, tt.new, Options{}).Unified("a/f", "b/f")
			want := tt.want
			if want != "" {
				want = "--- a/f\n+++ b/f\n" + want
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			check(t, tt.old, tt.new)
		})
	}
}

func TestHeader(t *testing.T) {
	tests := map[string]string{
		"a/plain.go":     "a/plain.go",
		"/dev/null":      "/dev/null",
		"a/заметки.md":   "a/заметки.md",
		"a/two words":    "a/two words\t",
		"a/x\n+++ b/y":   `"a/x\n+++ b/y"`,
		"a/\x1b[2J":      `"a/\033[2J"`,
		`a/"q\`:          `"a/\"q\\"`,
		"a/\u202egpj.sh": `"a/\342\200\256gpj.sh"`,
		"a/\xff\ufffd":   "\"a/\\377\ufffd\"",
	}
	for name, want := range tests {
		if got := header(name); got != want {
			t.Errorf("header(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestHunks(t *testing.T) {
	d := Lines("a\nb\nc\nd", "a\nB\nc\nd\n", Options{Context: -1})
	want := Diff{
		Added: 2, Removed: 2,
		Hunks: []Hunk{
			{2, 1, 2, 1, []Line{{Removed, "b\n"}, {Added, "B\n"}}},
			{4, 1, 4, 1, []Line{{Removed, "d"}, {Added, "d\n"}}},
		},
	}
	if fmt.Sprint(d) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", d, want)
	}
}

// check applies the diff of two texts, directly and from its text, with several sizes of context, and compares its numbers.
func check(t testing.TB, old, new string) {
	t.Helper()
	for _, context := range []int{-1, 1, 3, 1000} {
		d := Lines(old, new, Options{Context: context})
		if got, err := apply(old, d.Unified("a", "b")); err != nil || got != new {
			t.Fatalf("context %d: %v\nold %q\nnew %q\ngot %q\n%s", context, err, old, new, got, d.Unified("a", "b"))
		}
		added, removed := 0, 0
		for _, h := range d.Hunks {
			olds, news := 0, 0
			for _, line := range h.Lines {
				switch line.Kind {
				case Added:
					news, added = news+1, added+1
				case Removed:
					olds, removed = olds+1, removed+1
				case Same:
					news, olds = news+1, olds+1
				}
			}
			if olds != h.OldLines || news != h.NewLines {
				t.Fatalf("hunk of %d and %d lines says %d and %d", olds, news, h.OldLines, h.NewLines)
			}
		}
		if added != d.Added || removed != d.Removed {
			t.Fatalf("%d added, %d removed; the stats say %d and %d", added, removed, d.Added, d.Removed)
		}
	}
}

// apply is a strict patch: every line must be at the place that the diff names.
func apply(old, unified string) (string, error) {
	lines := slices.Collect(strings.Lines(old))
	diff := slices.Collect(strings.Lines(unified))
	if len(diff) == 0 {
		return old, nil
	}
	var out []string
	next := 0
	for i := 2; i < len(diff); i++ {
		line := diff[i]
		text := line[1:]
		if i+1 < len(diff) && strings.HasPrefix(diff[i+1], "\\") {
			text = strings.TrimSuffix(text, "\n")
		}
		switch line[0] {
		case '@':
			olds := strings.Split(strings.Fields(line)[1][1:], ",")
			start, err := strconv.Atoi(olds[0])
			if err != nil {
				return "", err
			}
			if len(olds) == 1 || olds[1] != "0" {
				start--
			}
			if start < next || start > len(lines) {
				return "", fmt.Errorf("hunk at line %d after line %d", start, next)
			}
			out = append(out, lines[next:start]...)
			next = start
		case ' ', '-':
			if next >= len(lines) || lines[next] != text {
				return "", fmt.Errorf("line %d is not %q", next+1, text)
			}
			if line[0] == ' ' {
				out = append(out, text)
			}
			next++
		case '+':
			out = append(out, text)
		case '\\':
		default:
			return "", fmt.Errorf("line %q", line)
		}
	}
	return strings.Join(append(out, lines[next:]...), ""), nil
}

// texts makes two texts from a seed; the second one has changes.
func texts(seed uint64) (old, new string) {
	r := rand.New(rand.NewPCG(seed, 2))
	size := r.IntN([]int{3, 20, 100, 400, 2000}[r.IntN(5)])
	letters := 1 + r.IntN([]int{2, 8, 60, 5000}[r.IntN(4)])
	line := func() string {
		end := "\n"
		if r.IntN(40) == 0 {
			end = "\r\n"
		}
		return fmt.Sprintf("%d%s", r.IntN(letters), end)
	}
	var a []string
	for range size {
		a = append(a, line())
	}
	b := slices.Clone(a)
	for range r.IntN([]int{1, 4, 30, 300}[r.IntN(4)] + 1) {
		at := r.IntN(len(b) + 1)
		end := min(len(b), at+r.IntN(5))
		var in []string
		for range r.IntN(5) {
			in = append(in, line())
		}
		b = slices.Replace(b, at, end, in...)
	}
	join := func(lines []string) string {
		s := strings.Join(lines, "")
		if r.IntN(5) == 0 {
			s = strings.TrimSuffix(s, "\n")
		}
		return s
	}
	return join(a), join(b)
}

func TestApplies(t *testing.T) {
	for seed := range uint64(400) {
		old, new := texts(seed)
		check(t, old, new)
	}
}

// git applies every diff, with its names, and gets the new text.
func TestGitApplies(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	dir := t.TempDir()
	names := []string{"plain", "two words", "quo\"te", "tab\there", "line\nbreak", "\u202ebidi", "日本"}
	var all strings.Builder
	want := map[string]string{}
	for seed := range uint64(300) {
		old, new := texts(seed)
		if old == "" || new == "" || old == new { // this needs git's own headers
			continue
		}
		name := fmt.Sprintf("%d %s", seed, names[seed%uint64(len(names))])
		if err := os.WriteFile(filepath.Join(dir, name), []byte(old), 0o600); err != nil {
			t.Fatal(err)
		}
		want[name] = new
		all.WriteString(Lines(old, new, Options{}).Unified("a/"+name, "b/"+name))
	}
	cmd := exec.Command("git", "apply", "--whitespace=nowarn", "-")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(all.String())
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v\n%s", err, out)
	}
	for name, text := range want {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != text {
			t.Errorf("%q: %v, another text than wanted", name, err)
		}
	}
}

type hardCase struct{ name, old, new string }

func hard(bytes int) []hardCase {
	r := rand.New(rand.NewPCG(7, 7))
	random := func(letters, per int) string {
		var b strings.Builder
		for b.Len() < bytes {
			fmt.Fprintf(&b, "%0*d\n", per, r.IntN(letters))
		}
		return b.String()
	}
	code := random(1<<30, 36)
	lines := slices.Collect(strings.Lines(code))
	for i := range lines {
		if r.IntN(50) == 0 {
			lines[i] = "changed\n"
		}
	}
	edited := strings.Join(lines, "")
	mixed := slices.Collect(strings.Lines(code))
	r.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	same := strings.Repeat("a\n", bytes/2)
	return []hardCase{
		{"few edits", code, "x\n" + code + "y"},
		{"many edits", code, edited},
		{"every line", code, random(1<<30, 36)},
		{"shuffled", code, strings.Join(mixed, "")},
		{"all lines equal", same, same[:len(same)/2] + "b\n"},
		{"two letters", random(2, 1), random(2, 1)},
		{"ten letters", random(10, 4), random(10, 4)},
		{"line ends", code, strings.ReplaceAll(code, "\n", "\r\n")},
		{"one line", strings.Repeat("x", bytes), strings.Repeat("x", bytes) + "y"},
	}
}

func TestHard(t *testing.T) {
	for _, tt := range hard(40_000) {
		t.Run(tt.name, func(t *testing.T) { check(t, tt.old, tt.new) })
	}
}

func FuzzLines(f *testing.F) {
	f.Add("a\nb\n", "b\na")
	f.Add("", "\r\n\n")
	f.Fuzz(func(t *testing.T, old, new string) { check(t, old, new) })
}

// FuzzTexts uses seeds for longer texts than the fuzzer would make.
func FuzzTexts(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		old, new := texts(seed)
		check(t, old, new)
	})
}
