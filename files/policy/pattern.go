package policy

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Pattern matches paths, as they are relative to the workspace, with slashes:
//
//	?        one character of a name
//	*        any characters of a name, also none
//	[a-z]    one of these; [!a-z] or [^a-z] one that is none of these
//	{a,b}    a or b
//	**       as a whole name: any directories, also none
//	\x       x itself
//
// A pattern without a slash is about the file's own name, wherever it lies.
// One with a slash begins at the root of the workspace, with a leading slash or
// without; one that ends in a slash is about everything below. The zero
// Pattern matches nothing.
//
// So Match takes it, and with it a rule that allows. A rule that asks or denies takes more: see restricts.
type Pattern struct {
	text   string
	exact  *regexp.Regexp
	needed string         // a text that every exact match contains
	named  *regexp.Regexp // takes signs for themselves, see asNames; nil: the pattern has none
	strict []folded       // see restricts
}

// Limits of a pattern.
const (
	maxPattern      = 4096 // bytes, also of all alternatives together
	maxAlternatives = 64
)

// tooMuch are forms that match every file, or other names than they seem to.
var tooMuch = regexp.MustCompile(`\[:\^?\w+:\]|(^|[^\\])\{,*\}|^\{(,[^{}]*|[^{}]*,)\}$`)

// ParsePattern reads a pattern.
func ParsePattern(s string) (Pattern, error) {
	fail := func(why error) (Pattern, error) { return Pattern{}, fmt.Errorf("pattern %q: %w", s, why) }
	switch {
	case s == "":
		return fail(errors.New("is empty"))
	case len(s) > maxPattern:
		return Pattern{}, fmt.Errorf("pattern of %d bytes: at most %d", len(s), maxPattern)
	case !utf8.ValidString(s):
		return fail(errors.New("is not valid UTF-8"))
	case tooMuch.MatchString(s):
		return fail(errors.New(`has empty braces or a class as [:alpha:], which match too much: write {a,b}, [a-z], or "\{" for the sign itself`))
	}
	p := Pattern{text: s}
	var err error
	if p.exact, err = compile(s); err != nil {
		return fail(err)
	}
	p.needed = RequiredText(p.exact)
	if names := asNames(s); len(names) > 0 {
		if p.named, err = compile(names...); err != nil {
			return fail(err)
		}
	}
	forms, err := expressions(strictForms(s)...)
	for _, e := range forms {
		p.strict = append(p.strict, fold(e+`(?:/.*)?`))
	}
	if err != nil {
		return fail(err)
	}
	return p, nil
}

// ParsePath reads a pattern as people write paths: it may begin with "./", which is the root of the workspace, and brackets that
// are no class, as in app/[user-id]/page.tsx, are a name. (One range, as in [z-a], is a mistake.)
func ParsePath(s string) (Pattern, error) {
	text := s
	if rest, ok := strings.CutPrefix(s, "./"); ok {
		text = "/" + rest
	}
	p, err := ParsePattern(text)
	if errors.Is(err, errRange) && !oneRange.MatchString(text) {
		p, err = ParsePattern(quote(text, "[]"))
	}
	if err != nil {
		return p, err
	}
	p.text = s
	return p, nil
}

// Match reports whether the pattern matches the path exactly, including case.
func (p Pattern) Match(path string) bool {
	return p.exact != nil && strings.Contains(path, p.needed) && p.exact.MatchString(path)
}

// allows reports whether a rule that allows is about the path: the pattern matches it, or is the path, or its last name, to the letter.
func (p Pattern) allows(name string) bool {
	at := strings.TrimPrefix(strings.TrimPrefix(p.text, "./"), "/")
	return p.Match(name) || at == name && strings.Contains(p.text, "/") || p.text != "" && p.text == path.Base(name)
}

// Names reports whether the pattern matches the path, or is the path with some of its signs taken for themselves: app/[id]/*.ts
// names app/[id]/a.ts.
func (p Pattern) Names(path string) bool {
	return p.Match(path) || p.named != nil && p.named.MatchString(path)
}

// restricts reports whether a rule that asks or denies is about the path. As in .gitignore, the pattern may match a directory
// above: then the rule is about all that is below. Case and Unicode composition are ignored, because file systems may ignore
// them. A pattern that can be understood in several ways is taken in each of them: signs stand for themselves too, and a
// backslash separates names as well. The root itself is matched by patterns of all names only.
func (p Pattern) restricts(path string) bool {
	if path == "." {
		path = ""
	}
	path = norm.NFC.String(path)
	return matchFolded(p.strict, path, strings.ToLower(path))
}

// folded is an expression for whole paths that ignores case.
type folded struct {
	exp    *regexp.Regexp
	needed string // a text that every match contains in lower case
}

// fold makes a folded of an expression, which is valid.
func fold(expression string) folded {
	needed := RequiredText(regexp.MustCompile(`(?s)\A` + expression + `\z`))
	return folded{regexp.MustCompile(`(?si)\A` + expression + `\z`), strings.ToLower(needed)}
}

// matchFolded reports whether one of these matches a path. lower is the path in lower case.
func matchFolded(all []folded, path, lower string) bool {
	return slices.ContainsFunc(all, func(f folded) bool { return strings.Contains(lower, f.needed) && f.exp.MatchString(path) })
}

func (p Pattern) String() string { return p.text }

// MarshalText returns the text of the pattern.
func (p Pattern) MarshalText() ([]byte, error) { return []byte(p.text), nil }

// UnmarshalText is ParsePath.
func (p *Pattern) UnmarshalText(text []byte) error {
	parsed, err := ParsePath(string(text))
	if err == nil {
		*p = parsed
	}
	return err
}

// asNames returns the pattern with signs taken for themselves: the brackets, the braces, both, and all of them. A sign that
// matches itself anyway needs no such form.
func asNames(s string) []string {
	if !strings.ContainsAny(s, `[]{}\\`) {
		return nil
	}
	var forms []string
	for _, signs := range []string{"[]", "{}", "[]{}"} {
		forms = append(forms, quote(s, signs))
	}
	return append(forms, quote(strings.ReplaceAll(s, `\`, `\\`), "[]{}"))
}

// strictForms returns all forms of a pattern that restricts.
func strictForms(s string) []string {
	forms := []string{strings.TrimRight(norm.NFC.String(s), "/")}
	if at := strings.IndexByte(s, '\\'); at > 0 { // one in front is an escape
		forms = append(forms, strings.TrimRight(strings.ReplaceAll(forms[0], `\`, "/"), "/"))
	}
	for _, f := range forms {
		forms = append(forms, asNames(f)...)
	}
	return forms
}

// quote writes a backslash in front of these signs, where there is none.
func quote(s, signs string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			b.WriteByte(s[i])
			i++
		case strings.IndexByte(signs, s[i]) >= 0:
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// compile turns the forms of a pattern into one regular expression for whole paths.
func compile(forms ...string) (*regexp.Regexp, error) {
	all, err := expressions(forms...)
	if err != nil {
		return nil, err
	}
	return regexp.Compile(`(?s)\A(?:` + strings.Join(all, "|") + `)\z`)
}

// expressions returns the forms of a pattern as regular expressions, one for each alternative. The first form has to be valid; of
// the others those count that are.
func expressions(forms ...string) (all []string, err error) {
	for i, form := range forms {
		alternatives, err := braces(form)
		size := 0
		for _, alt := range alternatives {
			if size += len(alt); size > maxPattern {
				err = fmt.Errorf("has more than %d bytes with all its alternatives written out", maxPattern)
			}
			e := ""
			if err == nil {
				e, err = expression(alt)
			}
			if err == nil && !slices.Contains(all, e) {
				all = append(all, e)
			}
		}
		if err != nil && i == 0 {
			return nil, err
		}
	}
	return all, nil
}

// expression returns a pattern without braces as a regular expression.
func expression(pattern string) (string, error) {
	names := strings.Split(strings.TrimPrefix(pattern, "/"), "/")
	if !strings.Contains(pattern, "/") {
		names = []string{"**", pattern}
	}
	last := len(names) - 1
	if names[last] == "" && last > 0 {
		names[last] = "**"
	}
	var b strings.Builder
	for i, name := range names {
		switch {
		case name == "" || name == "." || name == "..":
			return "", errors.New(`has an empty name, "." or "..": a path is written from the root of the workspace, as "docs/a.txt"; "**" is all`)
		case name == "**" && i == last:
			b.WriteString(`.*`)
		case name == "**" && i > 0 && names[i-1] == "**": // a second "**" matches nothing more
		case name == "**":
			b.WriteString(`(?:[^/]*/)*`)
		default:
			if err := writeName(&b, []rune(name)); err != nil {
				return "", err
			}
			if i < last {
				b.WriteByte('/')
			}
		}
	}
	return b.String(), nil
}

// writeName writes the expression for one name.
func writeName(b *strings.Builder, p []rune) error {
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '*':
			b.WriteString(`[^/]*`)
			for i+1 < len(p) && p[i+1] == '*' { // a second star matches nothing more
				i++
			}
		case '?':
			b.WriteString(`[^/]`)
		case '[':
			n, err := writeClass(b, p[i:])
			if err != nil {
				return err
			}
			i += n - 1
		case '\\':
			if i++; i == len(p) {
				return errors.New(`ends in \`)
			}
			fallthrough
		default:
			b.WriteString(regexp.QuoteMeta(string(p[i])))
		}
	}
	return nil
}

var (
	errRange = errors.New("has a bad class or range")
	oneRange = regexp.MustCompile(`\[.-.\]`)
)

// writeClass writes the expression for the brackets at the beginning of p, and returns their length. A class never matches a slash.
func writeClass(b *strings.Builder, p []rune) (int, error) {
	i := 1
	b.WriteByte('[')
	if i < len(p) && (p[i] == '!' || p[i] == '^') {
		b.WriteString(`^/`)
		i++
	}
	one := func() rune {
		if p[i] == '\\' && i+1 < len(p) {
			i++
		}
		i++
		return p[i-1]
	}
	for start := i; i < len(p); {
		if p[i] == ']' && i > start {
			b.WriteByte(']')
			return i + 1, nil
		}
		low := one()
		high := low
		if i+1 < len(p) && p[i] == '-' && p[i+1] != ']' {
			i++
			high = one()
		}
		switch {
		case high < low:
			return 0, errRange
		case low < '/' && '/' < high:
			fmt.Fprintf(b, `\x{%x}-.0-\x{%x}`, low, high)
		default:
			fmt.Fprintf(b, `\x{%x}-\x{%x}`, low, high)
		}
	}
	return 0, errors.New("has a [ without a ]")
}

// braces expands the alternatives. They may be nested.
func braces(s string) ([]string, error) {
	open := index(s, '{')
	if open < 0 {
		if index(s, '}') >= 0 {
			return nil, errors.New("has a } without a {")
		}
		return []string{s}, nil
	}
	parts, end, err := choices(s, open)
	if err != nil {
		return nil, err
	}
	if index(s[:open], '}') >= 0 {
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

// choices returns the texts between the commas of the braces that open at index open, and where the braces end.
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
	return nil, 0, errors.New("has a { without a }")
}

// index returns the first index of c in s without a backslash before it.
func index(s string, c byte) int {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
		} else if s[i] == c {
			return i
		}
	}
	return -1
}

// RequiredText returns the longest known text that every match of re contains; "" if none is known.
func RequiredText(re *regexp.Regexp) string {
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return ""
	}
	return required(tree)
}

func required(tree *syntax.Regexp) (longest string) {
	switch tree.Op {
	case syntax.OpLiteral:
		if tree.Flags&syntax.FoldCase == 0 {
			longest = string(tree.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		longest = required(tree.Sub[0])
	case syntax.OpRepeat:
		if tree.Min > 0 {
			longest = required(tree.Sub[0])
		}
	case syntax.OpConcat:
		for _, part := range tree.Sub {
			if l := required(part); len(l) > len(longest) {
				longest = l
			}
		}
	}
	return longest
}
