package filetools

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stet-dev/stet/internal/literal"
	"github.com/stet-dev/stet/workspace"
)

// The fast check may say that a file has no match without looking at its lines. Then no line of the file matches.
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
		s := search{re: re, needed: []byte(literal.Required(re)), limit: 100}
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
