package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Pattern matches paths, as they are relative to the workspace, with slashes:
//
//	?        one character of a name
//	*        any characters of a name, also none
//	[a-z]    one of these; [!a-z] one that is none of these
//	{a,b}    a or b
//	**       as a whole name: any directories, also none
//	\x       x itself
//
// A pattern without a slash is about the file's own name, wherever it lies.
// One with a slash begins at the root of the workspace, with a leading slash or
// without; one that ends in a slash is about everything below. The zero
// Pattern matches nothing.
type Pattern struct {
	text string
	alts [][]string // for each alternative its names, in the syntax above without braces
}

// Limits of a pattern.
const (
	maxPattern      = 4096 // bytes
	maxAlternatives = 64
)

// ParsePattern reads a pattern.
func ParsePattern(s string) (Pattern, error) {
	fail := func(why string) (Pattern, error) { return Pattern{}, fmt.Errorf("pattern %q: %s", s, why) }
	switch {
	case s == "":
		return fail("is empty")
	case len(s) > maxPattern:
		return Pattern{}, fmt.Errorf("pattern of %d bytes: at most %d", len(s), maxPattern)
	case !utf8.ValidString(s):
		return fail("is not valid UTF-8")
	}
	alternatives, err := braces(s)
	if err != nil {
		return fail(err.Error())
	}
	p := Pattern{text: s}
	for _, alt := range alternatives {
		names := strings.Split(strings.TrimPrefix(alt, "/"), "/")
		if !strings.Contains(alt, "/") {
			names = []string{"**", alt}
		}
		if last := len(names) - 1; names[last] == "" && last > 0 {
			names[last] = "**"
		}
		for _, name := range names {
			if name == "" || name == "." || name == ".." {
				return fail("has an empty name, . or ..")
			}
			if err := checkName(name); err != nil {
				return fail(err.Error())
			}
		}
		p.alts = append(p.alts, slices.CompactFunc(names, func(a, b string) bool { return a == "**" && b == "**" }))
	}
	return p, nil
}

// Match reports whether the pattern matches the path, letter by letter.
func (p Pattern) Match(path string) bool { return p.match(path, false) }

func (p Pattern) String() string { return p.text }

// MarshalText returns the pattern as it was written.
func (p Pattern) MarshalText() ([]byte, error) { return []byte(p.text), nil }

// UnmarshalText is ParsePattern.
func (p *Pattern) UnmarshalText(text []byte) error {
	parsed, err := ParsePattern(string(text))
	if err == nil {
		*p = parsed
	}
	return err
}

// match matches; with fold, without regard to case and composition.
func (p Pattern) match(path string, fold bool) bool {
	if fold {
		path = norm.NFC.String(path)
	}
	names := strings.Split(path, "/")
	for _, alt := range p.alts {
		if matchNames(alt, names, fold) {
			return true
		}
	}
	return false
}

// matchNames matches whole paths. It goes back to the last ** alone, which is
// enough: what an earlier one could take, the later one can take as well.
func matchNames(pattern, names []string, fold bool) bool {
	i, j, star, mark := 0, 0, -1, 0
	for j < len(names) {
		switch {
		case i < len(pattern) && pattern[i] == "**":
			star, mark = i, j
			i++
			if i == len(pattern) {
				return true // names[j:] is not empty: a/** is not a itself
			}
		case i < len(pattern) && matchName(pattern[i], names[j], fold):
			i, j = i+1, j+1
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	return i == len(pattern)
}

// matchName matches one name, in the same way.
func matchName(pattern, name string, fold bool) bool {
	if fold {
		pattern = norm.NFC.String(pattern)
	}
	p, s := []rune(pattern), []rune(name)
	i, j, star, mark := 0, 0, -1, 0
	for j < len(s) {
		if i < len(p) && p[i] == '*' {
			star, mark = i, j
			i++
			continue
		}
		if i < len(p) {
			if n, ok := matchRune(p[i:], s[j], fold); ok {
				i, j = i+n, j+1
				continue
			}
		}
		if star < 0 {
			return false
		}
		mark++
		i, j = star+1, mark
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}

// matchRune matches r with what p, which is well-formed, begins with, and
// returns how many runes of p that is.
func matchRune(p []rune, r rune, fold bool) (int, bool) {
	switch p[0] {
	case '?':
		return 1, true
	case '\\':
		return 2, same(p[1], r, fold)
	case '[':
		return matchClass(p, r, fold)
	}
	return 1, same(p[0], r, fold)
}

func matchClass(p []rune, r rune, fold bool) (int, bool) {
	i, in, not := 1, false, p[1] == '!'
	if not {
		i++
	}
	one := func() (c rune) {
		if p[i] == '\\' {
			i++
		}
		c, i = p[i], i+1
		return c
	}
	for start := i; p[i] != ']' || i == start; {
		low := one()
		high := low
		if p[i] == '-' && p[i+1] != ']' {
			i++
			high = one()
		}
		in = in || within(low, r, high, fold)
	}
	return i + 1, in != not
}

func within(low, r, high rune, fold bool) bool {
	if low <= r && r <= high {
		return true
	}
	if fold {
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			if low <= f && f <= high {
				return true
			}
		}
	}
	return false
}

func same(a, b rune, fold bool) bool { return within(a, b, a, fold) }

// checkName wants the brackets of a name closed and something after each
// backslash, so that matching need not look.
func checkName(name string) error {
	p := []rune(name)
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			if i++; i == len(p) {
				return errors.New("ends in a backslash")
			}
		case '[':
			i++
			if i < len(p) && p[i] == '!' {
				i++
			}
			for start := i; i < len(p) && (p[i] != ']' || i == start); i++ {
				if p[i] == '\\' {
					i++
				}
			}
			if i >= len(p) {
				return errors.New("has a [ that is not closed")
			}
		}
	}
	return nil
}

// braces writes the alternatives out. They may be nested.
func braces(s string) ([]string, error) {
	open := index(s, '{', 0)
	if open < 0 {
		if index(s, '}', 0) >= 0 {
			return nil, errors.New("has a } without a {")
		}
		return []string{s}, nil
	}
	parts, end, err := choices(s, open)
	if err != nil {
		return nil, err
	}
	if index(s[:open], '}', 0) >= 0 {
		return nil, errors.New("has a } without a {")
	}
	var out []string
	for _, part := range parts {
		rest, err := braces(s[:open] + part + s[end:])
		if err != nil {
			return nil, err
		}
		if out = append(out, rest...); len(out) > maxAlternatives {
			return nil, fmt.Errorf("has more than %d alternatives", maxAlternatives)
		}
	}
	return out, nil
}

// choices returns what stands between the commas of the braces that open at
// that place, and where they end.
func choices(s string, open int) (parts []string, end int, err error) {
	depth, from := 0, open+1
	for i := open; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '{':
			depth++
		case ',':
			if depth == 1 {
				parts, from = append(parts, s[from:i]), i+1
			}
		case '}':
			if depth--; depth == 0 {
				return append(parts, s[from:i]), i + 1, nil
			}
		}
	}
	return nil, 0, errors.New("has a { that is not closed")
}

// index is where c stands in s without a backslash before it.
func index(s string, c byte, from int) int {
	for i := from; i < len(s); i++ {
		if s[i] == '\\' {
			i++
		} else if s[i] == c {
			return i
		}
	}
	return -1
}
