package dialect

import (
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// readers are the commands a shell read begins with.
var readers = map[string]bool{"cat": true, "sed": true, "head": true, "tail": true, "nl": true, "cd": true, "echo": true}

// shellReads returns what a command line prints, if all that it does is to
// print lines of files whose parts can be told apart. An echo between them
// prints a rule. It is strict: variables, globs, substitutions, any other
// command and any redirection but 2>/dev/null make it nil.
func shellReads(command string) []excerpt {
	command = strings.TrimSpace(command)
	word, _, _ := strings.Cut(command, " ")
	if !readers[word] || len(command) > 2000 || strings.ContainsAny(command, "`<") {
		return nil
	}
	file, err := parseShell(command)
	if err != nil {
		return nil
	}
	var p shellPlan
	for i, s := range file.Stmts {
		if !p.stmt(s, i == 0) {
			return nil
		}
	}
	if !separable(p.excerpts) {
		return nil
	}
	return p.excerpts
}

// parsers are used again: one is dear to make.
var parsers = sync.Pool{New: func() any { return syntax.NewParser() }}

// parseShell parses a command line.
func parseShell(command string) (*syntax.File, error) {
	p := parsers.Get().(*syntax.Parser)
	defer parsers.Put(p)
	return p.Parse(strings.NewReader(command), "")
}

// shellPlan gathers what the commands of a command line print.
type shellPlan struct {
	dir      string
	excerpts []excerpt
}

func (p *shellPlan) stmt(s *syntax.Stmt, first bool) bool {
	if s.Negated || s.Background || s.Coprocess || s.Disown {
		return false
	}
	for _, r := range s.Redirs {
		if r.Op != syntax.RdrOut || r.N == nil || r.N.Value != "2" || literal(r.Word) != "/dev/null" {
			return false
		}
	}
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		switch c.Op {
		case syntax.AndStmt:
			return p.stmt(c.X, first) && p.stmt(c.Y, false)
		case syntax.Pipe:
			excerpts, ok := pipeline(c)
			return ok && p.add(excerpts)
		}
	case *syntax.CallExpr:
		words, ok := literals(c)
		if !ok {
			return false
		}
		if words[0] == "cd" {
			if len(words) != 2 || len(p.excerpts) > 0 || words[1] == "" || words[1] == "-" {
				return false
			}
			p.dir = join(p.dir, words[1])
			return true
		}
		if words[0] == "echo" {
			rule := strings.Join(words[1:], " ")
			p.excerpts = append(p.excerpts, excerpt{rule: rule})
			return rule != "" && !strings.Contains(rule, `\`) && (rule[0] != '-' || strings.HasPrefix(rule, "---"))
		}
		return p.add(source(words))
	}
	return false
}

func (p *shellPlan) add(excerpts []excerpt) bool {
	for _, x := range excerpts {
		if x.rule == "" {
			x.path = join(p.dir, x.path)
		}
		p.excerpts = append(p.excerpts, x)
	}
	return len(excerpts) > 0
}

// literals returns the words of a command, if all of them are literal.
func literals(c *syntax.CallExpr) ([]string, bool) {
	if len(c.Assigns) > 0 || len(c.Args) == 0 {
		return nil, false
	}
	out := make([]string, len(c.Args))
	for i, w := range c.Args {
		if out[i] = literal(w); out[i] == "" {
			return nil, false
		}
	}
	return out, true
}

// literal returns the text of a word without expansions, or "".
func literal(w *syntax.Word) string {
	var b strings.Builder
	for i, part := range w.Parts {
		switch x := part.(type) {
		case *syntax.Lit:
			v := x.Value
			if i == 0 && strings.HasPrefix(v, "~") && !strings.HasPrefix(v, "~/") || strings.ContainsAny(v, "\\*?[]{}") {
				return ""
			}
			b.WriteString(v)
		case *syntax.SglQuoted:
			if x.Dollar {
				return ""
			}
			b.WriteString(x.Value)
		case *syntax.DblQuoted:
			for _, q := range x.Parts {
				l, ok := q.(*syntax.Lit)
				if !ok || x.Dollar || strings.Contains(l.Value, `\`) {
					return ""
				}
				b.WriteString(l.Value)
			}
		default:
			return ""
		}
	}
	return b.String()
}

// pipeline returns what a pipe of a source and filters prints.
func pipeline(c *syntax.BinaryCmd) ([]excerpt, bool) {
	var excerpts []excerpt
	ok := false
	switch x := c.X.Cmd.(type) {
	case *syntax.BinaryCmd:
		if x.Op != syntax.Pipe || len(c.X.Redirs) > 0 {
			return nil, false
		}
		excerpts, ok = pipeline(x)
	case *syntax.CallExpr:
		plan := shellPlan{}
		ok = plan.stmt(c.X, false) && len(plan.excerpts) == 1 && plan.excerpts[0].rule == ""
		excerpts = plan.excerpts
	}
	y, isCall := c.Y.Cmd.(*syntax.CallExpr)
	if !ok || len(excerpts) != 1 || !isCall || len(c.Y.Redirs) > 0 || c.Y.Negated {
		return nil, false
	}
	words, ok := literals(y)
	if !ok {
		return nil, false
	}
	return filter(excerpts[0], words)
}
