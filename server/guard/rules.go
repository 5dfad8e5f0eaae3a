package guard

import (
	"path/filepath"
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
		d, decided = p.Ruled(r)
		for _, path := range mayName(e.Input) {
			for _, one := range place(workspace, absolute(e.Dir, path)) {
				one.Tool, one.Write, one.Restrict = r.Tool, r.Write, true
				if s, ok := p.Ruled(one); ok && (!decided || s.Stricter(d)) {
					d, decided = s, true
				}
			}
		}
		return d, decided
	}
	var all []policy.Request
	for _, t := range a.Targets {
		all = append(all, place(workspace, absolute(e.Dir, t.Path))...)
	}
	return join(len(all), func(i int) (policy.Decision, bool) {
		all[i].Tool, all[i].Write = r.Tool, r.Write
		if g.Control != nil && g.Control(all[i].Path) {
			all[i].Notes = append(all[i].Notes, tool.Control)
		}
		return p.Ruled(all[i])
	})
}

// maxNamed is how many texts in the arguments of a call may be paths. Of one with more, the others are not looked at.
const maxNamed = 1000

// mayName returns the texts in the arguments of a tool that is not known: each may be a path.
func mayName(input []byte) (paths []string) {
	for text := range strings.SplitSeq(Texts(input), "\n") {
		if text != "" && len(text) < 4096 && len(paths) < maxNamed {
			paths = append(paths, strings.TrimPrefix(text, "file://"))
		}
	}
	return paths
}

// line takes the command line of a call apart; nil: it has none.
func (g *Guard) line(e Event, a *dialect.Action) *dialect.Line {
	if a.Op != dialect.Shell && a.Command == "" {
		return nil
	}
	return dialect.ParseLine(a.Command, dialect.Place{Dir: e.Dir, Home: g.Home, Glob: snapshot.Glob})
}

// ruleShell judges each part of a command line, and the files that it names. What cannot be parsed is asked about if there
// is any rule that could deny it.
func ruleShell(p *policy.Policy, workspace, tool string, l *dialect.Line) (policy.Decision, bool) {
	parts := len(l.Commands)
	if l.Unclear {
		parts++
	}
	return join(parts, func(i int) (policy.Decision, bool) {
		if i == len(l.Commands) {
			return p.RuledUnclear()
		}
		return ruleCommand(p, workspace, tool, l.Dirs, l.Commands[i])
	})
}

func ruleCommand(p *policy.Policy, workspace, tool string, dirs []string, c dialect.LineCommand) (strictest policy.Decision, ruled bool) {
	does := &dialect.Action{Op: dialect.Shell, Command: c.Text}
	writes, shows := does.Changes(), does.MayShowFiles("")
	stricter := func(r policy.Request) {
		r.Tool = tool
		if one, ok := p.Ruled(r); ok && (!ruled || one.Stricter(strictest)) {
			strictest, ruled = one, true
		}
	}
	words := c.Words
	if len(words) == 0 {
		words = [][]string{{}}
	}
	for k, w := range words { // a rule that allows is about the command as it is written, and not about where its output goes
		stricter(policy.Request{Words: w, Write: writes || len(c.Wrote) > 0, Restrict: k > 0 || !c.Exact || len(c.Wrote) > 0})
	}
	file := func(r policy.Request, write bool) {
		r.Write, r.Restrict = write, true
		stricter(r)
		for _, r.Words = range words { // a rule may be about a command and a path
			stricter(r)
		}
	}
	trees := writes && slices.ContainsFunc(words, changesTree)
	files := func(names []string, write bool) {
		for _, name := range names {
			for _, dir := range dirs {
				path := absolute(dir, name)
				for _, r := range place(workspace, path) {
					file(r, write)
					if (write || shows) && r.Path != "." { // it may be a directory: then it is about what is in it
						r.Path += "/"
						file(r, write)
					}
				}
				if write && trees {
					for _, below := range snapshot.Below(path, maxBelow) {
						if rel, ok := relative(workspace, workspace, below); ok {
							file(policy.Request{Path: rel}, true)
						}
					}
				}
			}
		}
	}
	files(slices.Concat(c.Names, c.Reads), false)
	if writes {
		files(c.Names, true)
	}
	files(c.Wrote, true)
	return strictest, ruled
}

// maxBelow is how many files of a directory are judged that a command removes or moves as a whole. Of one with more, the others are not looked at.
const maxBelow = 5000

// changesTree reports whether a command changes what is in the directories that it names.
func changesTree(words []string) bool {
	return len(words) > 0 && slices.Contains([]string{"rm", "mv", "find", "chmod", "chown", "rsync"}, filepath.Base(words[0]))
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
func place(workspace, written string) (all []policy.Request) {
	for _, p := range []string{written, snapshot.Resolve(written)} {
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
