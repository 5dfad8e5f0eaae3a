package policy_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stet-dev/stet/files/policy"
)

func TestPattern(t *testing.T) {
	for _, test := range []struct{ pattern, yes, no string }{
		{"*.go", "a.go x/y/a.go .go", "a.gox a.go/b"},
		{"a", "a x/a x/y/a", "b a/b ab"},
		{"/a", "a", "x/a a/b"},
		{"a/b", "a/b", "x/a/b a/b/c a"},
		{"a/*", "a/b a/.b", "a a/b/c"},
		{"a/**", "a/b a/b/c", "a b/a/b"},
		{"a/", "a/b a/b/c", "a b/a/b"},
		{"**", "a a/b", ""},
		{"**/a", "a x/a x/y/a", "b/ab a/b"},
		{"a/**/b", "a/b a/x/b a/x/y/b a/b/b", "a/bb ab b/a/b"},
		{"**/a/**", "a/b x/a/b x/a/b/c", "a x/a b"},
		{"a/**/b/**/c", "a/b/c a/x/b/y/b/c a/b/b/c/c", "a/c a/x/c/b"},
		{"a?c", "abc aüc a*c", "ac abbc a/c"},
		{"[a-c]x", "ax bx", "dx x Ax"},
		{"[!a-c]x", "dx -x", "ax"},
		{"[^a-c]x", "dx ^x", "ax"},
		{"a[.-0]b", "a.b a0b", "a/b a1b"},
		{"[]a]x", "]x ax", "bx"},
		{"[a-]x", "ax -x", "bx"},
		{"[!a]x", "!x [x bx", "ax"},
		{`{a\,b,c}`, "a,b c", `a a\,b b`},
		{`[\]]x`, "]x", `\x`},
		{`a\*`, "a*", "ab"},
		{`a\{b`, "a{b", "ab"},
		{"{a,b}.{c,d}", "a.c a.d b.c x/b.d", "c.a a."},
		{"{a,b/c}", "a x/a b/c", "x/b/c c"},
		{"a{b,{c,d}e}f", "abf acef adef", "abcf aef"},
		{"x{,y}", "x xy", "y"},
		{"*a*b*c", "abc xaxbxc aabbcc", "acb abcd"},
		{"a/b**", "a/b a/bcd", "a/b/c"},
	} {
		p := pattern(t, test.pattern)
		for _, path := range strings.Fields(test.yes) {
			if !p.Match(path) {
				t.Errorf("%s does not match %s", test.pattern, path)
			}
		}
		for _, path := range strings.Fields(test.no) {
			if p.Match(path) {
				t.Errorf("%s matches %s", test.pattern, path)
			}
		}
	}
	for _, bad := range []string{
		"", "/", "a//b", "../a", "a/..", "./a", "a[", "[!]", `a\`, "{a", "a}", "}", "}{a,b}", "{a,b}}", "a[]", "[z-a]", "\xff",
		strings.Repeat("{a,b}", 7), strings.Repeat("a", 5000),
	} {
		if p, err := policy.ParsePattern(bad); err == nil {
			t.Errorf("%.20q is accepted as %v", bad, p)
		}
	}
	if (policy.Pattern{}).Match("") {
		t.Error("the zero pattern matches")
	}
}

// A pattern has at most 4,096 bytes, with its alternatives written out, and 64 alternatives.
func TestPatternLimits(t *testing.T) {
	for _, test := range []struct {
		pattern string
		ok      bool
	}{
		{strings.Repeat("a", 4096), true},
		{strings.Repeat("a", 4097), false},
		{strings.Repeat("{a,b}", 6), true},
		{strings.Repeat("{a,b}", 6) + strings.Repeat("a", 58), true},
		{strings.Repeat("{a,b}", 6) + strings.Repeat("a", 59), false},
		{"{" + strings.Repeat("a,", 64) + "a}", false},
	} {
		if _, err := policy.ParsePattern(test.pattern); (err == nil) != test.ok {
			t.Errorf("%.20q of %d bytes: %v", test.pattern, len(test.pattern), err)
		}
	}
}

// FuzzPattern compares patterns of the simple signs with the regular expression of the same meaning.
func FuzzPattern(f *testing.F) {
	f.Add("a/**/*.go", "a/b/c.go")
	f.Add("**/?b*", "x/ab")
	f.Add("{a,[!b-d]}/", "a/b")
	f.Add(`\[*]`, "[x]")
	f.Fuzz(func(t *testing.T, text, path string) {
		p, err := policy.ParsePattern(text)
		if err != nil {
			return
		}
		got := p.Match(path)
		if strings.ContainsAny(text, `{}[]\`) || !utf8.ValidString(path) || strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/") || strings.Contains(path, "//") || path == "" {
			return
		}
		if want := expression(text).MatchString(path); got != want {
			t.Errorf("%q on %q: %v, want %v", text, path, got, want)
		}
	})
}

func expression(pattern string) *regexp.Regexp {
	if !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	pattern = strings.TrimPrefix(pattern, "/")
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	names := strings.Split(pattern, "/")
	names = slices.CompactFunc(names, func(a, b string) bool { return a == "**" && b == "**" })
	var b strings.Builder
	b.WriteString("(?s)^")
	for i, name := range names {
		last := i == len(names)-1
		switch {
		case name == "**" && last:
			b.WriteString(".+")
		case name == "**":
			b.WriteString("(?:[^/]+/)*")
		default:
			for _, r := range name {
				switch r {
				case '*':
					b.WriteString("[^/]*")
				case '?':
					b.WriteString("[^/]")
				default:
					b.WriteString(regexp.QuoteMeta(string(r)))
				}
			}
			if !last {
				b.WriteString("/")
			}
		}
	}
	b.WriteString("$")
	return regexp.MustCompile(b.String())
}
