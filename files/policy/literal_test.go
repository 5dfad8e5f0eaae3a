package policy

import (
	"regexp"
	"testing"
)

func TestRequiredText(t *testing.T) {
	for pattern, want := range map[string]string{
		"abc": "abc", "(?i)abc": "", `[A-Z]\w+_END_\d+\(`: "_END_", "a(bc)+d": "bc", "(bc)?d": "d", "(bc)*": "", "(abc){2,}": "abc", "(abc){0,2}x": "x",
		"abc|abd": "ab", "abc|xyz": "", "^func [a-z]+$": "func ", "é.": "é", "": "", `\A(?:(?:[^/]*/)*[^/]*_test\.go)\z`: "_test.go",
	} {
		if got := RequiredText(regexp.MustCompile("(?m)" + pattern)); got != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
}

// Every match contains the text.
func FuzzRequiredText(f *testing.F) {
	f.Add("a(bc)+d|e", "xabcbcd")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return
		}
		want := regexp.MustCompile(regexp.QuoteMeta(RequiredText(re)))
		if m := re.FindString(text); re.MatchString(text) && !want.MatchString(m) {
			t.Errorf("%q matches %q of %q, without %q", pattern, m, text, RequiredText(re))
		}
	})
}
