package guard

import (
	"slices"
	"strings"

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/snapshot"
	"github.com/stet-dev/stet/tool"
	"github.com/stet-dev/stet/trim/dialect"
)

// decide returns what the rules say about a call, and the cautions. decided is false if no rule matches.
func (g *Guard) decide(workspace string, e Event, a *dialect.Action) (d policy.Decision, notes []tool.Note, decided bool, err error) {
	l := g.line(e, a)
	notes = g.cautions(workspace, e, a, l)
	p, err := g.Rules(workspace)
	if err != nil {
		return policy.Decision{}, notes, false, err
	}
	if p != nil {
		d, decided = g.ruled(p, workspace, e, a, l)
	}
	d, decided = careful(p, notes, d, decided)
	return d, notes, decided, nil
}

func (g *Guard) ruled(p *policy.Policy, workspace string, e Event, a *dialect.Action, l *dialect.Line) (d policy.Decision, decided bool) {
	if a.Op == dialect.Shell {
		return ruleShell(p, workspace, e.Tool, l)
	}
	r := policy.Request{Tool: e.Tool, Write: changes(a)}
	if len(a.Targets) == 0 {
		var found strictest
		found.add(p.Ruled(r))
		names, lines, whole := mayName(e.Input)
		for i, path := range slices.Concat(names, lines) {
			for _, one := range place(new(snapshot.Resolver), workspace, absolute(e.Dir, path)) {
				one.Tool, one.Write, one.Restrict = r.Tool, r.Write, true
				if s, ok := p.Ruled(one); ok && i < len(names) {
					found.add(s, true)
				} else if ok && s.Action != policy.Allow {
					found.add(p.RuledUnclear())
				}
			}
		}
		if !whole {
			found.add(p.RuledUnclear())
		}
		return found.Decision, found.ruled
	}
	var all []policy.Request
	for _, t := range a.Targets {
		all = append(all, place(new(snapshot.Resolver), workspace, absolute(e.Dir, t.Path))...)
	}
	d, decided = join(len(all), func(i int) (policy.Decision, bool) {
		all[i].Tool, all[i].Write = r.Tool, r.Write
		if g.Control != nil && g.Control(all[i].Path) {
			all[i].Notes = append(all[i].Notes, tool.Control)
		}
		return p.Ruled(all[i])
	})
	if a.Op != dialect.Read || l == nil {
		return d, decided
	}
	found := strictest{d, decided} // a command that only reads files: rules may be about it, and its agent may not heed the call's directory
	if one, ok := ruleShell(p, workspace, e.Tool, l); ok && one.Action != policy.Allow {
		found.add(one, true)
	}
	return found.Decision, found.ruled
}

// maxNamed is how many texts in the arguments of a call may be paths, and as many lines of texts of several lines.
const maxNamed = 1000

// mayName returns what may be a path in the arguments of a tool that is not known. names are the texts of one line. lines are the lines of the other
// texts, which may be lists of paths. It returns maxNamed of each at most. whole is false if there are more names.
func mayName(input []byte) (names, lines []string, whole bool) {
	for _, text := range allTexts(input) {
		list := strings.Contains(text, "\n")
		for line := range strings.SplitSeq(text, "\n") {
			switch line = strings.TrimPrefix(line, "file://"); {
			case line == "" || len(line) >= 4096:
			case list && len(lines) < maxNamed:
				lines = append(lines, line)
			case !list:
				names = append(names, line)
			}
		}
	}
	return names[:min(len(names), maxNamed)], lines, len(names) <= maxNamed
}

// line takes the command line of a call apart; nil: it has none.
func (g *Guard) line(e Event, a *dialect.Action) *dialect.Line {
	if a.Op != dialect.Shell && a.Command == "" {
		return nil
	}
	return dialect.ParseLine(a.Command, dialect.Place{Dir: e.Dir, In: a.Dir, Home: g.Home, Glob: snapshot.Glob})
}

// ruleShell judges each part of a command line, and the files that it names. What cannot be parsed is asked about if there
// is any rule that could deny it.
func ruleShell(p *policy.Policy, workspace, tool string, l *dialect.Line) (policy.Decision, bool) {
	hidden, j := lookFor(l), newJudge(p, workspace, tool, l)
	parts := len(l.Commands)
	if found := hidden.ruled(j); l.Unclear || found.ruled {
		parts++
	}
	return join(parts, func(i int) (policy.Decision, bool) {
		if i == len(l.Commands) {
			return p.RuledUnclear()
		}
		return j.command(l.Commands[i])
	})
}

// join returns the strictest of n decisions. Not decided is stricter than allowed: all parts must be allowed.
func join(n int, part func(int) (policy.Decision, bool)) (d policy.Decision, decided bool) {
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
	if !decided && !allowed {
		return policy.Decision{}, false
	}
	return d, true
}

// place returns an absolute path as rules have it, relative to the workspace, or absolute outside of it: as it is written, and with links
// resolved if that is another.
func place(links *snapshot.Resolver, workspace, written string) (all []policy.Request) {
	for _, p := range []string{written, links.Resolve(written)} {
		r := policy.Request{Path: p, Notes: []tool.Note{tool.Outside}}
		if rel, ok := relative(workspace, workspace, p); ok {
			r = policy.Request{Path: rel}
		}
		if len(all) > 0 && len(r.Notes) == 0 && len(all[0].Notes) > 0 {
			all = nil // the workspace is named by a link
		}
		if len(all) == 0 || all[0].Path != r.Path {
			all = append(all, r)
		}
	}
	return all
}
