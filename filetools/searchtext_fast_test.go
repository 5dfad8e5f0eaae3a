package filetools

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stet-dev/stet/workspace"
)

// A file that is said to have no match, without a look at its lines, has none in them.
func TestWithout(t *testing.T) {
	pieces := []string{"a", "b", "ab", "\n", "\r", "\r\n", "\x00", "\xff", "\xef\xbb\xbf", "\xff\xfea\x00", "é", " ", "func New"}
	patterns := []string{"a", "ab", "a$", "^b", "^$", `a\b`, "a.b", "b *$", "é", `\s$`, "(?i)A", "[^a]", "func New[a-z]*", "x", "a?b+", "(ab)+", "[ab]ab", "(a|b)ab"}
	fast := 0
	rapid.Check(t, func(t *rapid.T) {
		data := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "data"), "")
		re, err := compilePattern(values{"pattern": rapid.SampledFrom(patterns).Draw(t, "pattern"), "regexp": true})
		if err != nil {
			t.Fatal(err)
		}
		s := search{re: re, literal: requiredLiteral(re), limit: 100}
		if !s.without([]byte(data)) {
			return
		}
		fast++
		text, _, err := decode([]byte(data), workspace.Encoding{})
		if err != nil {
			t.Fatalf("%q cannot be decoded: %v", data, err)
		}
		for _, line := range splitLines(strings.ReplaceAll(text, "\r\n", "\n")) {
			if re.MatchString(strings.TrimSuffix(line, "\n")) {
				t.Fatalf("%s matches %q of %q", re, line, data)
			}
		}
	})
	if fast == 0 {
		t.Error("no file was told without a look at its lines")
	}
}

func TestRequiredLiteral(t *testing.T) {
	for pattern, want := range map[string]string{
		"abc": "abc", "(?i)abc": "", `[A-Z]\w+_END_\d+\(`: "_END_", "a(bc)+d": "bc", "(bc)?d": "d", "(bc)*": "", "(abc){2,}": "abc", "(abc){0,2}x": "x",
		"abc|abd": "ab", "abc|xyz": "", "^func [a-z]+$": "func ", "é.": "é", "": "",
	} {
		if got := string(requiredLiteral(regexp.MustCompile("(?m)" + pattern))); got != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
}
