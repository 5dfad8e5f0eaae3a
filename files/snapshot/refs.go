package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stet-dev/stet/internal/gitignore"
)

// Refs is where the branches and the stash of a repository are. The zero value is that of a directory without git.
type Refs struct {
	Head   string            `json:"head,omitempty"`   // "refs/heads/main", or a commit if no branch is checked out
	Commit string            `json:"commit,omitempty"` // that is checked out
	Names  map[string]string `json:"names,omitempty"`  // commits by the names of branches, tags and others
	Stash  []Stash           `json:"stash,omitempty"`  // the newest last
	state  string            // stamps of the files that have all this
}

// Stash is an entry of the stash.
type Stash struct {
	Commit  string `json:"commit"`
	Message string `json:"message"`
}

// maxRefs is the limit of names. A repository with more is followed without them.
const maxRefs = 5000

// refs returns where the branches and the stash are now. It starts git only if a file of git's has changed.
func (g *git) refs(ctx context.Context) Refs {
	if g == nil {
		return Refs{}
	}
	state := g.state()
	g.mu.Lock()
	known := g.known
	g.mu.Unlock()
	if state == known.state {
		return known
	}
	r := Refs{state: state, Names: map[string]string{}}
	if data, err := os.ReadFile(filepath.Join(g.dir, "HEAD")); err == nil {
		r.Head = strings.TrimPrefix(strings.TrimSpace(string(data)), "ref: ")
	}
	out, _ := hardened(ctx, g.top, "rev-parse", "--verify", "--quiet", "HEAD^{commit}").Output()
	r.Commit = strings.TrimSpace(string(out))
	out, _ = hardened(ctx, g.top, "for-each-ref", fmt.Sprintf("--count=%d", maxRefs), "--format=%(objectname) %(refname)").Output()
	for line := range strings.Lines(string(out)) {
		if commit, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name != "refs/stash" {
			r.Names[name] = commit
		}
	}
	log, _ := os.ReadFile(filepath.Join(g.common, "logs", "refs", "stash"))
	for line := range bytes.Lines(log) { // old name, new name, who and when, tab, message
		who, message, _ := strings.Cut(strings.TrimSpace(string(line)), "\t")
		if f := strings.Fields(who); len(f) > 1 {
			r.Stash = append(r.Stash, Stash{f[1], message})
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known = r
	return r
}

// state returns the stamps of the files in which git keeps its branches and the stash.
func (g *git) state() string {
	var b strings.Builder
	note := func(name string) {
		if info, err := os.Lstat(name); err == nil {
			fmt.Fprintf(&b, "%s %d %d\n", name, info.ModTime().UnixNano(), info.Size())
		}
	}
	note(filepath.Join(g.dir, "HEAD"))
	note(filepath.Join(g.dir, "logs", "HEAD"))
	note(filepath.Join(g.common, "packed-refs"))
	note(filepath.Join(g.common, "logs", "refs", "stash"))
	n := 0
	filepath.WalkDir(filepath.Join(g.common, "refs"), func(name string, _ fs.DirEntry, err error) error {
		if n++; err != nil || n > maxRefs {
			return fs.SkipAll
		}
		note(name)
		return nil
	})
	return b.String()
}

// exclude returns the ignore rules that a repository has outside of its tree.
func (g *git) exclude() *gitignore.Rules {
	if g == nil {
		return nil
	}
	data, _ := os.ReadFile(filepath.Join(g.common, "info", "exclude"))
	return gitignore.Add(nil, "", data)
}

// BackTo returns the git commands that put back what a command moved from before to r. They change branches, the stash and the index,
// and no file. Git refuses to move a branch that is not as the command left it.
func (r Refs) BackTo(before Refs) [][]string {
	if before.Commit == "" && before.Names == nil {
		return nil
	}
	var cmds [][]string
	none := strings.Repeat("0", max(40, len(before.Commit))) // there must be no ref of this name
	if r.Head != before.Head && before.Head != "" {
		if strings.HasPrefix(before.Head, "refs/") {
			cmds = append(cmds, []string{"git", "symbolic-ref", "HEAD", before.Head})
		} else {
			cmds = append(cmds, []string{"git", "update-ref", "--no-deref", "HEAD", before.Commit})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before.Names)) {
		if now := r.Names[name]; now != before.Names[name] {
			cmds = append(cmds, []string{"git", "update-ref", name, before.Names[name], cmp.Or(now, none)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Names)) {
		if _, was := before.Names[name]; !was {
			cmds = append(cmds, []string{"git", "update-ref", "-d", name, r.Names[name]})
		}
	}
	for _, s := range before.Stash {
		if !slices.ContainsFunc(r.Stash, func(o Stash) bool { return o.Commit == s.Commit }) {
			cmds = append(cmds, []string{"git", "stash", "store", "-m", s.Message, s.Commit})
		}
	}
	if r.Commit != before.Commit && before.Commit != "" {
		cmds = append(cmds, []string{"git", "read-tree", before.Commit})
	}
	return cmds
}
