package filetools

import (
	"context"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/tool"
)

// The fast check may say that a file has no match without looking at its lines. Then no line of the file matches.
func TestWithout(t *testing.T) {
	pieces := []string{"a", "b", "ab", "\n", "\r", "\r\n", "\x00", "\xff", "\xef\xbb\xbf", "\xff\xfea\x00", "é", " ", "func New"}
	patterns := []string{"a", "ab", "a$", "^b", "^$", `a\b`, "a.b", "b *$", "é", `\s$`, "(?i)A", "[^a]", "func New[a-z]*", "x", "a?b+", "(ab)+", "[ab]ab", "(a|b)ab"}
	fast := 0
	rapid.Check(t, func(t *rapid.T) {
		data := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "data"), "")
		s := search{limit: 100}
		if err := s.compile(values{"pattern": rapid.SampledFrom(patterns).Draw(t, "pattern"), "regexp": true}); err != nil {
			t.Fatal(err)
		}
		if !s.without([]byte(data)) {
			return
		}
		fast++
		text, _, err := decode([]byte(data), workspace.Encoding{})
		if err != nil {
			t.Fatalf("%q cannot be decoded: %v", data, err)
		}
		for _, line := range splitLines(strings.ReplaceAll(text, "\r\n", "\n")) {
			if s.re.MatchString(strings.TrimSuffix(line, "\n")) {
				t.Fatalf("%s matches %q of %q", s.re, line, data)
			}
		}
	})
	if fast == 0 {
		t.Error("no file was told without a look at its lines")
	}
}

// A search ends with its call, or says that it is not complete, however long a match would take.
// (FILE-18)
func TestSearchEnds(t *testing.T) {
	now, asked, cancel := time.Unix(1e9, 0), 0, func() {}
	b := newBench(t, Config{Now: func() time.Time {
		if asked++; asked == 3 { // after the call's beginning and the file's: in the midst of a match
			cancel()
			now = now.Add(maxSearch + time.Second)
		}
		return now
	}}, workspace.Options{})
	pattern := strings.Repeat("a{0,1000}", 9) + "[bc]" // to match it takes hours
	for name, content := range map[string]string{"line": strings.Repeat("a", 9<<20), "lines": strings.Repeat(strings.Repeat("a", 1000)+"\r\n", 9<<10)} {
		b.put(name, content)
		asked = 0
		if r := b.call("search_text", args("path", name, "regexp", true, "pattern", pattern)); r.Failed() || !strings.Contains(r.Text, `"truncated":true`) {
			t.Errorf("%s: %s", name, r.Text)
		}
		ctx, end := context.WithCancel(context.Background())
		asked, cancel = 0, end
		tl, _ := b.set.Get("search_text")
		p, err := tl.Plan(ctx, tool.Call{Session: "one", Name: "search_text", Arguments: []byte(args("path", name, "regexp", true, "pattern", pattern))})
		if err != nil || p.Done == nil || p.Done.Code != tool.Cancelled {
			t.Errorf("%s, cancelled: %+v, %v", name, p, err)
		}
		cancel = func() {}
	}
	if r := b.call("search_text", args("regexp", true, "pattern", strings.Repeat("a{0,1000}", 11))); r.Code != tool.InvalidArgument {
		t.Errorf("a pattern of 22,000 instructions: %s", r.Text)
	}
}

// A line that was read in part when the time was over does not match by its end there. (FILE-18)
func TestSearchEndsInLine(t *testing.T) {
	now, asked := time.Unix(1e9, 0), 0
	b := newBench(t, Config{Now: func() time.Time {
		if asked++; asked == 9 { // in the midst of the second line
			now = now.Add(maxSearch + time.Second)
		}
		return now
	}}, workspace.Options{})
	b.put("lines", "a\n"+strings.Repeat("a", 9<<20)+"x\n")
	r := b.call("search_text", args("path", "lines", "regexp", true, "pattern", strings.Repeat("a{0,1000}", 9)+"a$"))
	if !strings.Contains(r.Text, `"truncated":true`) || !strings.Contains(r.Text, `"matches":1`) {
		t.Errorf("%.300s", r.Text)
	}
}

// A pattern for the beginning or the end of the text is matched with each line alone, in every way to write it. FILE-18
func TestSearchPatternOfTextEnds(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("f", "one\ntwo\nthree\n")
	for _, pattern := range []string{`\Atwo`, `two\z`, `(?-m)^two`, `(?-m:two$)`, `x|(?-m:^)two`} {
		if r := b.call("search_text", args("path", "f", "regexp", true, "pattern", pattern)); !strings.Contains(r.Text, `"matches":1`) {
			t.Errorf("%s: %.300s", pattern, r.Text)
		}
	}
}
