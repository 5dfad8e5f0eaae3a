package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/llm"
)

func TestEachLine(t *testing.T) {
	for text, want := range map[string][]string{
		"  one  \n\n\ttwo\r\n":                {"  one", "\ttwo"},
		"     7→\tseven":                      {"     7→\tseven", "\tseven"},
		"7\tseven":                            {"7\tseven", "seven"},
		"12: twelve":                          {"12: twelve", " twelve", "twelve"},
		"\x1b[31mred\x1b[0m":                  {"red"},
		"10 %\r99 %\rdone":                    {"done"},
		"files: 10 %\rfiles: 99 %\rfil\r\n":   {"files: 99 %"}, // cut in the middle
		"waiting\r       \rdone  \n":          {"done"},
		"@@ -1 +1 @@\n-old\n+new\n same":      {"@@ -1 +1 @@", "-old", "+new", "new", " same", "same"},
		"+ a list of things\n 1234567890: no": {"+ a list of things", " 1234567890: no"},
	} {
		var got []string
		eachLine(text, func(line string) { got = append(got, line) })
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	// Each character is written once, whatever it is written over.
	if got := Clean(strings.Repeat("a", 1<<20) + strings.Repeat("\rb", 1<<20)); got != "b"+strings.Repeat("a", 1<<20-1) {
		t.Errorf("%.20q", got)
	}
}

func TestVisibleStrings(t *testing.T) {
	for in, want := range map[string]string{
		`{"content":"a\nb"}`:              "a\nb",
		`[{"type":"text","text":"x\ty"}]`: "x\ty",
		`{"broken`:                        `{"broken`,
		"plain":                           "plain",
	} {
		if got := visible(&llm.Part{Kind: llm.ToolResult, Text: in}); !slices.Contains(got, want) {
			t.Errorf("%s: %q", in, got)
		}
	}
	if got := visible(&llm.Part{Kind: llm.Opaque, Text: "x", Raw: "{}"}); got != nil {
		t.Errorf("an image shows %q", got)
	}
}

func TestInOnePiece(t *testing.T) {
	numbered := "  1→func a() {\n  2→\treturn one()\n  3→}\n  4→\n  5→func b() {"
	for _, c := range []struct {
		text string
		want []string
		ok   bool
	}{
		{numbered, []string{"func a() {", "\treturn one()", "}"}, true},
		{numbered, []string{"a() {", "\treturn one()", "}", "", "func"}, true}, // begins and ends in the middle of lines
		{numbered, []string{"func a() {", "}"}, false},                         // a line is missing
		{numbered, []string{"func a() {", "\treturn", "}"}, false},             // lines between the first and the last must be whole
		{numbered, []string{"return one"}, true},
		{"x\n…\ny", []string{"x", "y"}, false},
	} {
		if got := inOnePiece(c.text, c.want); got != c.ok {
			t.Errorf("%q in %q: %v", c.want, c.text, got)
		}
	}
}

func FuzzLines(f *testing.F) {
	for _, text := range []string{"a\nb", "  12→x\r\n", "@@ -1 +1 @@\n-a\n+b", `{"a":"b\nc"}`, "\x1b[31mred\x1b[", "10%\r20%", "1.", "7:", "\x1b"} {
		f.Add(text, "b")
	}
	f.Fuzz(func(t *testing.T, text, want string) {
		for _, shown := range visible(&llm.Part{Kind: llm.ToolResult, Text: text}) {
			eachLine(shown, func(line string) {
				if line == "" || strings.Contains(line, "\n") {
					t.Errorf("%q is no line of %q", line, shown)
				}
			})
		}
		var lines []string
		for line := range strings.Lines(text) {
			lines = append(lines, Clean(line))
		}
		if len(lines) > 1 && !inOnePiece(text, lines) {
			t.Errorf("%q does not hold its own lines", text)
		}
		if inOnePiece(text, []string{want}) != strings.Contains(text, want) {
			t.Errorf("%q in %q", want, text)
		}
	})
}

// The strings of a JSON object have a fixed order, which does not depend on the order of a Go map.
func TestStringsOfAnObjectHaveAnOrder(t *testing.T) {
	for range 20 {
		got := Decoded(`{"e":"5","b":{"d":"2","c":"1"},"a":"0","f":["6"]}`)
		if diff := cmp.Diff([]string{"0", "1", "2", "5", "6"}, got); diff != "" {
			t.Fatal(diff)
		}
	}
}
