package guard

import (
	"slices"
	"strings"
	"sync"

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/snapshot"
	"github.com/stet-dev/stet/tool"
	"github.com/stet-dev/stet/trim/dialect"
)

// commandCautions are commands that a person should look at twice. A rule or a grant for the session may still allow them, except those of stet itself.
var commandCautions = sync.OnceValue(func() []caution {
	return []caution{
		{tool.Deletes, asksAbout("rm -r", "find -delete", "git clean -f", "git reset --hard", "git checkout --force", "git stash drop", "git stash clear", "shred", "dd", "mkfs*")},
		{tool.Overwrites, asksAbout("git push --force", "git push --force-with-lease", "git push --mirror", "git push --delete")},
		{tool.Stet, asksAbout("stet approve", "stet undo", "stet guard", "stet service", "stet uninstall", "stet config", "stet token", "stet hook")},
	}
})

// caution is a note about some commands: those that the policy asks about.
type caution struct {
	note     tool.Note
	commands policy.Policy
}

// asksAbout returns a policy that asks about commands.
func asksAbout(commands ...string) policy.Policy {
	rule := policy.Rule{Do: policy.Ask}
	for _, text := range commands {
		pattern, err := policy.ParseCommand(text)
		if err != nil {
			panic(err) // the table is fixed
		}
		rule.Commands = append(rule.Commands, pattern)
	}
	return policy.Policy{Rules: []policy.Rule{rule}}
}

// fetchers get something from the network; runners run what they are given.
var (
	fetchers = []string{"curl", "wget", "fetch"}
	runners  = []string{"sh", "bash", "zsh", "dash", "ksh", "fish", "source", ".", "eval", "python", "python3", "perl", "ruby", "node"}
)

// cautions returns what a person should know of a call before they decide. l is its command line; nil: it has none. Rules and grants do not
// remove the note Stet, nor, if the call shows or writes such a file, Secret.
func (g *Guard) cautions(workspace string, e Event, a *dialect.Action, l *dialect.Line) (notes []tool.Note) {
	add := func(more ...tool.Note) {
		for _, n := range more {
			if !slices.Contains(notes, n) {
				notes = append(notes, n)
			}
		}
	}
	writes, links := changes(a), new(snapshot.Resolver)
	if l != nil {
		for _, c := range commandCautions() {
			j := newJudge(&c.commands, workspace, e.Tool, l)
			for _, one := range l.Commands {
				if _, ok := j.command(one); ok && one.Words != nil && one.Words[0][0] != "" {
					add(c.note)
				}
			}
		}
		runs := func(programs []string) bool {
			return slices.ContainsFunc(l.Commands, func(c dialect.LineCommand) bool {
				return slices.ContainsFunc(c.Words, func(w []string) bool {
					return len(w) > 0 && slices.Contains(programs, w[0][strings.LastIndexByte(w[0], '/')+1:])
				})
			})
		}
		if runs(fetchers) && runs(runners) {
			add(tool.Fetched)
		}
		if slices.ContainsFunc(g.Own, func(own string) bool { return strings.Contains(a.Command, own) }) {
			add(tool.Stet)
		}
		if a.Dir != "" && slices.Contains(g.ofPath(links, workspace, absolute(e.Dir, a.Dir), false), tool.Stet) {
			add(tool.Stet)
		}
		left := maxLooked / 4 // of those after these only the name is looked at
		for _, c := range l.Commands {
			for _, name := range slices.Concat(c.Names, c.Reads) {
				for _, dir := range l.Dirs {
					p := absolute(dir, name)
					if left--; left < 0 {
						add(g.byName(workspace, p)...)
					} else if snapshot.Exists(p) {
						add(g.ofPath(links, workspace, p, false)...)
					}
				}
			}
			for _, name := range c.Wrote {
				for _, dir := range l.Dirs {
					add(g.ofPath(links, workspace, absolute(dir, name), true)...)
				}
			}
		}
	}
	for _, t := range a.Targets {
		add(g.ofPath(links, workspace, absolute(e.Dir, t.Path), writes)...)
	}
	if a.Op == dialect.Other && len(a.Targets) == 0 {
		names, lines, all := mayName(e.Input)
		if !all && slices.ContainsFunc(g.Own, func(own string) bool { return strings.Contains(Texts(e.Input), own) }) {
			add(tool.Stet)
		}
		for _, path := range slices.Concat(names, lines) {
			if slices.Contains(g.ofPath(links, workspace, absolute(e.Dir, path), writes), tool.Stet) {
				add(tool.Stet)
			}
		}
	}
	return notes
}

// ofPath returns the cautions about a file that a call names.
func (g *Guard) ofPath(links *snapshot.Resolver, workspace, path string, write bool) (notes []tool.Note) {
	for _, r := range place(links, workspace, path) {
		if slices.Contains(r.Notes, tool.Outside) {
			notes = append(notes, tool.Away)
		} else if write {
			notes = append(notes, policy.NotesOf(r.Path)...)
			if g.Control != nil && g.Control(r.Path) {
				notes = append(notes, tool.Control)
			}
		}
		if !write && policy.Secret(r.Path) {
			notes = append(notes, tool.Secret)
		}
	}
	for _, p := range []string{path, links.Resolve(path)} {
		if g.owns(p) || write && g.Hooks != nil && g.Hooks(p) {
			notes = append(notes, tool.Stet)
		}
	}
	return notes
}

// byName returns the cautions about a file that a call names which rules and grants do not remove, without a look at the disk.
func (g *Guard) byName(workspace, path string) (notes []tool.Note) {
	if rel, ok := relative(workspace, workspace, path); ok && policy.Secret(rel) || !ok && policy.Secret(path) {
		notes = append(notes, tool.Secret)
	}
	if g.owns(path) {
		notes = append(notes, tool.Stet)
	}
	return notes
}

// owns reports whether a path is one of stet's own, or below one.
func (g *Guard) owns(path string) bool {
	return slices.ContainsFunc(g.Own, func(own string) bool { return snapshot.Contains(own, path) })
}

// careful returns the decision about a call that is asked about whatever the rules allow: it runs stet itself, or it shows what is in a file that
// may be a secret.
func careful(p *policy.Policy, notes []tool.Note, d policy.Decision, decided bool) (policy.Decision, bool) {
	if decided && d.Action == policy.Deny {
		return d, true
	}
	secrets := policy.Ask
	if p != nil {
		secrets = p.Secrets
	}
	switch {
	case slices.Contains(notes, tool.Stet):
		return policy.Decision{Action: policy.Ask, Rule: "stet's own commands and files"}, true
	case !slices.Contains(notes, tool.Secret), secrets == policy.Allow:
		return d, decided
	case secrets == policy.Deny:
		return policy.Decision{Action: policy.Deny, Rule: policy.ForSecret, Why: "the file may hold keys or passwords, which no agent is shown here"}, true
	}
	return policy.Decision{Action: policy.Ask, Rule: policy.ForSecret}, true
}
