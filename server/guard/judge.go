package guard

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/snapshot"
	"github.com/stet-dev/stet/trim/dialect"
)

// maxLooked is how many files and directories are looked at to judge one command line: those that it names, and those that are below. A command line that
// is about more is not clear.
const maxLooked = 1000

// judge decides about the commands of one command line, and the files that they are about.
type judge struct {
	rules           *policy.Policy
	workspace, tool string
	dirs            []string
	paths           []string // the patterns of the rules that deny or ask
	both            bool     // a rule may be about a command and a file
	left            int      // how many more files may be looked at
	lost            bool     // a command may run in a directory that is not among dirs
	links           snapshot.Resolver
}

func newJudge(p *policy.Policy, workspace, tool string, l *dialect.Line) *judge {
	j := &judge{rules: p, workspace: workspace, tool: tool, dirs: l.Dirs, left: maxLooked, lost: l.Lost}
	if l.Many {
		j.left = -1
	}
	for _, r := range slices.Concat(p.Rules, p.Project) {
		j.both = j.both || len(r.Commands) > 0 && (len(r.Paths) > 0 || r.On != policy.Any)
		for _, path := range r.Paths {
			if r.Do != policy.Allow {
				j.paths = append(j.paths, path.String())
			}
		}
	}
	return j
}

// strictest is the strictest of decisions about one thing.
type strictest struct {
	policy.Decision
	ruled bool // false: there is none
}

// add takes a decision into account, if a rule made one.
func (s *strictest) add(one policy.Decision, ruled bool) {
	if ruled && (!s.ruled || one.Stricter(s.Decision)) {
		s.Decision, s.ruled = one, true
	}
}

// command returns the strictest decision about a command.
func (j *judge) command(c dialect.LineCommand) (policy.Decision, bool) {
	var all strictest
	does := &dialect.Action{Op: dialect.Shell, Command: c.Text}
	writes, shows := does.Changes(), does.MayShowFiles("")
	changes := writes || len(c.Wrote) > 0
	words := c.Words
	if len(words) == 0 {
		words = [][]string{{}}
	}
	for k, w := range words { // a rule that allows is about the command as it is written, and not about where its output goes
		all.add(j.rules.Ruled(policy.Request{Tool: j.tool, Words: w, Write: changes, Restrict: k > 0 || !c.Exact || len(c.Wrote) > 0}))
	}
	for _, w := range c.Maybe {
		j.perhaps(&all, policy.Request{Tool: j.tool, Words: w, Write: changes})
	}
	if c.Split {
		for _, w := range words {
			j.perhaps(&all, policy.Request{Tool: j.tool, Words: w, Write: changes, Unsure: true})
		}
	}
	file := func(r policy.Request, write, certain bool) {
		r.Tool, r.Write, r.Restrict = j.tool, write, true
		for _, r.Words = range slices.Concat([][]string{nil}, words) {
			if r.Words != nil && !j.both {
				return
			}
			if one, ok := j.rules.Ruled(r); ok && certain {
				all.add(one, true)
			} else if ok {
				all.add(j.rules.RuledUnclear())
			}
		}
	}
	var trees reach
	for _, w := range words {
		trees |= reachOf(w)
	}
	files := func(names []string, write bool) {
		if len(j.paths) == 0 { // they differ only for rules about paths
			names = names[:min(len(names), 1)]
		}
		for _, name := range names {
			for _, dir := range j.dirs {
				if j.left--; j.left < 0 {
					return
				}
				path := absolute(dir, name)
				for _, r := range place(&j.links, j.workspace, path) {
					file(r, write, true)
					if (write || shows) && r.Path != "." { // it may be a directory: then it is about what is in it
						r.Path += "/"
						file(r, write, true)
					}
				}
				if write && trees&(below|perhapsBelow) != 0 {
					j.below(path, func(r policy.Request) { file(r, true, trees&below != 0) })
				}
			}
		}
	}
	files(slices.Concat(c.Names, c.Reads), false)
	if writes {
		files(c.Names, true)
	}
	files(c.Wrote, true)
	if writes && trees&everything != 0 {
		j.below(j.workspace, func(r policy.Request) { file(r, true, false) })
	}
	relative := slices.ContainsFunc(slices.Concat(c.Names, c.Reads, c.Wrote, c.Under), func(name string) bool { return !filepath.IsAbs(name) })
	lost := j.lost && relative && (changes || shows)
	if (j.left < 0 || lost) && len(j.paths) > 0 || slices.ContainsFunc(c.Under, j.mayBeUnder) {
		all.add(j.rules.RuledUnclear())
	}
	return all.Decision, all.ruled
}

// perhaps asks about a command that may be another than its words say, if a rule is about one.
func (j *judge) perhaps(all *strictest, r policy.Request) {
	r.Restrict = true
	if one, ok := j.rules.Ruled(r); ok && one.Action != policy.Allow {
		all.add(j.rules.RuledUnclear())
	}
}

// mayBeUnder reports whether a rule may be about a file below a directory.
func (j *judge) mayBeUnder(name string) bool {
	return slices.ContainsFunc(j.dirs, func(dir string) bool {
		rel, ok := relative(j.workspace, dir, name)
		return ok && slices.ContainsFunc(j.paths, func(pattern string) bool { return mayBeBelow(pattern, rel) })
	})
}

// below calls about for each file of the workspace below a directory, unless no rule can be about one.
func (j *judge) below(dir string, about func(policy.Request)) {
	dir = snapshot.Resolve(dir)
	if snapshot.Contains(dir, j.workspace) {
		dir = j.workspace
	}
	rel, ok := relative(j.workspace, j.workspace, dir)
	if !ok || j.left < 0 || !slices.ContainsFunc(j.paths, func(pattern string) bool { return mayBeBelow(pattern, rel) }) {
		return
	}
	var files []string
	files, j.left = snapshot.Below(dir, j.left)
	for _, f := range files {
		if rel, ok := relative(j.workspace, j.workspace, f); ok {
			about(policy.Request{Path: rel})
		}
	}
}

// mayBeBelow reports whether a pattern may match what is below a directory of the workspace. It may unless another name is at its beginning.
func mayBeBelow(pattern, dir string) bool {
	names := strings.Split(strings.Trim(strings.TrimPrefix(pattern, "./"), "/"), "/")
	if len(names) == 1 && !strings.HasPrefix(pattern, "/") && !strings.HasPrefix(pattern, "./") || dir == "." {
		return true
	}
	special := func(r rune) bool { return r > '~' || strings.ContainsRune(`*?[{\`, r) }
	for i, name := range strings.Split(dir, "/") {
		if i == len(names) || strings.ContainsFunc(names[i]+name, special) {
			return true
		}
		if !strings.EqualFold(names[i], name) {
			return false
		}
	}
	return true
}

// reach is which files a command may change that are not its words.
type reach uint8

const (
	below        reach = 1 << iota // those in the directories that it names
	perhapsBelow                   // the same, by what it does not say
	everything                     // perhaps all of the workspace
)

// reachOf returns the reach of a command that changes something.
func reachOf(words []string) reach {
	if len(words) == 0 {
		return 0
	}
	has := func(what func(string) bool) bool { return slices.ContainsFunc(words[1:], what) }
	begins := func(texts ...string) bool {
		return has(func(w string) bool {
			return slices.ContainsFunc(texts, func(text string) bool { return strings.HasPrefix(w, text) })
		})
	}
	letter := func(some string) bool {
		return has(func(w string) bool {
			return strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.ContainsAny(w, some)
		})
	}
	switch filepath.Base(words[0]) {
	case "rm", "mv", "chmod", "chown", "rsync":
		return below
	case "find":
		if len(words) == 1 || words[1] != "" && strings.Contains("-(!", words[1][:1]) { // the directory is where it runs
			return below | everything
		}
		return below
	case "cp":
		if letter("rRa") || begins("--r", "--a") {
			return perhapsBelow
		}
	case "tar", "bsdtar", "gtar":
		switch {
		case len(words) < 2 || !letter("x") && !begins("--ext", "--get") && (strings.HasPrefix(words[1], "-") || !strings.Contains(words[1], "x")):
		case slices.Contains(words, "-C") && !slices.Contains(words, ""):
			return perhapsBelow
		default:
			return everything
		}
	case "unzip":
		if !letter("lpt") {
			return everything
		}
	case "patch", "cpio":
		return everything
	case "git":
		return reachOfGit(words, begins, letter)
	}
	return 0
}

func reachOfGit(words []string, begins func(...string) bool, letter func(string) bool) (r reach) {
	for i := 1; i < len(words); i++ {
		w, rest := words[i], words[i+1:]
		switch w {
		case "restore", "checkout", "switch", "rm", "mv":
			r |= below
			pathspec := func(w string) bool { return strings.HasPrefix(w, ":") || strings.ContainsAny(w, "*?[") }
			if slices.ContainsFunc(rest, pathspec) || begins("--pathspec") || (w == "checkout" || w == "switch") && (letter("f") || begins("--f", "--di")) {
				r |= everything
			}
		case "reset":
			if begins("--h", "--me", "--k") {
				r |= everything
			}
		case "stash":
			if len(rest) == 0 || rest[0] != "list" && rest[0] != "show" && rest[0] != "drop" {
				r |= everything
			}
		case "clean", "apply", "am", "read-tree", "checkout-index":
			r |= everything
		}
		if !strings.HasPrefix(w, "-") && !strings.HasPrefix(words[i-1], "-") {
			break // it is the command of git
		}
	}
	return r
}
