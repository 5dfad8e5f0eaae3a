package guard

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/tool"
	"github.com/stet-dev/stet/trim/dialect"
)

// decide returns what the rules say about a call. decided is false if no rule matches.
func (g *Guard) decide(workspace string, e Event, a *dialect.Action) (d policy.Decision, decided bool, err error) {
	p, err := g.Rules(workspace)
	if err != nil || p == nil {
		return policy.Decision{}, false, err
	}
	if a.Op == dialect.Shell {
		d, decided = ruleCommand(p, workspace, e, a)
		return d, decided, nil
	}
	r := policy.Request{Tool: e.Tool, Write: changes(a)}
	if len(a.Targets) == 0 {
		d, decided = p.Ruled(r)
		return d, decided, nil
	}
	return join(len(a.Targets), func(i int) (policy.Decision, bool) {
		r := r
		r.Path = pathOf(workspace, e.Dir, a.Targets[i].Path, &r)
		return p.Ruled(r)
	})
}

// pathOf returns a path as rules have it: relative to the workspace, or absolute outside of it.
func pathOf(workspace, dir, p string, r *policy.Request) string {
	if rel, ok := relative(workspace, dir, p); ok {
		return rel
	}
	r.Notes = append(r.Notes, tool.Outside)
	return absolute(dir, p)
}

// join returns the strictest of n decisions. Not decided is stricter than allowed: all parts must be allowed.
func join(n int, part func(int) (policy.Decision, bool)) (d policy.Decision, decided bool, _ error) {
	allowed := n > 0
	for i := range n {
		one, ruled := part(i)
		switch {
		case !ruled:
			allowed = false
		case one.Action != policy.Allow && (!decided || one.Stricter(d)):
			d, decided = one, true
		case one.Action == policy.Allow && !decided:
			d = one
		}
	}
	if !decided && allowed {
		return d, true, nil
	}
	if !decided {
		d = policy.Decision{}
	}
	return d, decided, nil
}

// command is one simple command of a command line.
type command struct {
	words  []string // "": not known before it runs
	writes []string // files of its redirections; "": not known
}

// commandsOf returns the simple commands of a command line, those in substitutions and functions, too. It is nil if the line
// cannot be parsed.
func commandsOf(line string) (all []command) {
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return nil
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		s, ok := n.(*syntax.Stmt)
		if !ok {
			return true
		}
		var c command
		if call, ok := s.Cmd.(*syntax.CallExpr); ok {
			for _, w := range call.Args {
				c.words = append(c.words, literal(w))
			}
		}
		for _, r := range s.Redirs {
			if r.Op != syntax.RdrIn && r.Op != syntax.DplIn && r.Op != syntax.DplOut && r.Op != syntax.Hdoc && r.Op != syntax.DashHdoc && r.Op != syntax.WordHdoc {
				if to := literal(r.Word); to != "/dev/null" {
					c.writes = append(c.writes, to)
				}
			}
		}
		if len(c.words)+len(c.writes) > 0 {
			all = append(all, plain(c))
		}
		return true
	})
	return all
}

// literal returns a word without its quotes; "" if it has parts that are not known before it runs.
func literal(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	var b strings.Builder
	for _, p := range w.Parts {
		switch x := p.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(x.Value, `\`, ""))
		case *syntax.SglQuoted:
			b.WriteString(x.Value)
		case *syntax.DblQuoted:
			for _, q := range x.Parts {
				l, ok := q.(*syntax.Lit)
				if !ok {
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

// wrappers run the command that follows them.
var wrappers = map[string]bool{"sudo": true, "env": true, "nice": true, "nohup": true, "time": true, "command": true, "exec": true, "timeout": true, "xargs": true, "doas": true, "builtin": true}

// plain removes what stands in front of a command's own name: directories, and programs that only run it.
func plain(c command) command {
	for len(c.words) > 1 && wrappers[base(c.words[0])] {
		c.words = c.words[1:]
		for len(c.words) > 1 && (strings.HasPrefix(c.words[0], "-") || strings.Contains(c.words[0], "=") || isNumber(c.words[0])) {
			c.words = c.words[1:]
		}
	}
	if len(c.words) > 0 {
		c.words[0] = base(c.words[0])
	}
	return c
}

func base(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789.smhd") == "" }

// ruleCommand judges each part of a command line, and the files that it names. What cannot be parsed is asked about if there
// is any rule about commands.
func ruleCommand(p *policy.Policy, workspace string, e Event, a *dialect.Action) (policy.Decision, bool) {
	parts := commandsOf(a.Command)
	if parts == nil {
		if d, ok := p.RuledCommand(e.Tool, nil); ok {
			return d, true
		}
		return policy.Decision{}, false
	}
	d, decided, _ := join(len(parts), func(i int) (policy.Decision, bool) {
		c := parts[i]
		files := append([]string{}, c.writes...)
		if len(c.words) > 0 {
			files = append(files, c.words[1:]...)
		}
		strictest, ruled := p.RuledCommand(e.Tool, c.words)
		for k, f := range files {
			if f == "" || strings.HasPrefix(f, "-") {
				continue
			}
			r := policy.Request{Tool: e.Tool, Write: k < len(c.writes) || a.Changes()}
			r.Path = pathOf(workspace, e.Dir, f, &r)
			if one, ok := p.Ruled(r); ok && one.Action != policy.Allow && (!ruled || one.Stricter(strictest)) {
				strictest, ruled = one, true
			}
		}
		if ruled && strictest.Action == policy.Allow && len(c.writes) > 0 {
			return policy.Decision{}, false // a rule allowed the command, and not where its output goes
		}
		return strictest, ruled
	})
	return d, decided
}
