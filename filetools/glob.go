package filetools

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// glob is a compiled pattern over paths.
type glob struct {
	re   *regexp.Regexp
	base bool // it has no slash: the name alone is matched
}

func (g *glob) match(name string) bool {
	if g.base {
		name = path.Base(name)
	}
	return g.re.MatchString(name)
}

const maxGlob = 1000 // bytes

// compileGlob takes * and ? (not over a slash), ** (over any), [a-z], [!a-z],
// {a,b}, and \ before a character that stands for itself. A slash at the start
// says that the pattern begins at the directory.
func compileGlob(pattern string) (*glob, error) {
	switch {
	case pattern == "":
		return nil, errors.New("the pattern is empty")
	case len(pattern) > maxGlob:
		return nil, fmt.Errorf("the pattern has more than %d bytes", maxGlob)
	}
	for c := range strings.SplitSeq(pattern, "/") {
		if c == ".." {
			return nil, errors.New(`the pattern holds "..": it is matched against what is in the directory; name another one by path`)
		}
	}
	g := &glob{base: !strings.Contains(pattern, "/")}
	pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "./"), "/")
	c := globber{in: pattern}
	if err := c.run(); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(`\A(?s:` + c.out.String() + `)\z`)
	if err != nil {
		return nil, errors.New("the pattern has a bad class or range")
	}
	g.re = re
	return g, nil
}

// globber writes a pattern as a regular expression.
type globber struct {
	in    string
	at    int
	depth int
	out   strings.Builder
}

func (g *globber) run() error {
	for g.at < len(g.in) {
		c := g.in[g.at]
		g.at++
		switch c {
		case '*':
			g.star()
		case '?':
			g.out.WriteString(`[^/]`)
		case '[':
			if err := g.class(); err != nil {
				return err
			}
		case '{':
			g.depth++
			g.out.WriteString(`(?:`)
		case '}':
			if g.depth == 0 {
				return errors.New("the pattern has a } without a {")
			}
			g.depth--
			g.out.WriteByte(')')
		case ',':
			if g.depth > 0 {
				g.out.WriteByte('|')
			} else {
				g.out.WriteByte(',')
			}
		case '\\':
			if g.at == len(g.in) {
				return errors.New(`the pattern ends in \`)
			}
			g.out.WriteString(regexp.QuoteMeta(g.in[g.at : g.at+1]))
			g.at++
		default:
			g.out.WriteString(quoteByte(c))
		}
	}
	if g.depth > 0 {
		return errors.New("the pattern has a { without a }")
	}
	return nil
}

// quoteByte lets the bytes of a longer character pass.
func quoteByte(c byte) string {
	if c >= 0x80 {
		return string([]byte{c})
	}
	return regexp.QuoteMeta(string(rune(c)))
}

// star writes *, ** and **/.
func (g *globber) star() {
	if g.at == len(g.in) || g.in[g.at] != '*' {
		g.out.WriteString(`[^/]*`)
		return
	}
	for g.at < len(g.in) && g.in[g.at] == '*' {
		g.at++
	}
	if g.at < len(g.in) && g.in[g.at] == '/' {
		g.at++
		g.out.WriteString(`(?:.*/)?`)
		return
	}
	g.out.WriteString(`.*`)
}

// class writes [a-z] and [!a-z]; a ] that comes first stands for itself.
func (g *globber) class() error {
	rest := g.in[g.at:]
	not := ""
	if rest != "" && (rest[0] == '!' || rest[0] == '^') {
		not, rest = "^/", rest[1:]
	}
	end := -1
	if rest != "" {
		end = strings.IndexByte(rest[1:], ']') + 1
	}
	if end <= 0 {
		return errors.New("the pattern has a [ without a ]")
	}
	body := rest[:end]
	g.at = len(g.in) - len(rest) + end + 1
	body = strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `^`, `\^`, `&`, `\&`, `~`, `\~`).Replace(body)
	g.out.WriteString("[" + not + body + "]")
	return nil
}
