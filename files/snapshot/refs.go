package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"errors"
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
	Head   string            // "refs/heads/main", or a commit if no branch is checked out
	Commit string            // that is checked out
	Names  map[string]string // commits by the names of branches, tags and others
	Stash  []Stash           // the newest last
	Staged []Staged          // how the index differs from Commit
	Up     string            // from the directory to the top of the work tree: "" or "../../"

	// Unlisted says that the index cannot be put back: it has too many differences, or conflicts of a merge.
	Unlisted bool

	state, index string // stamps of the files that have all this
}

// Staged is a path at which the index differs from the commit.
type Staged struct {
	Mode string // "100644"; "000000": the index does not have it
	Blob string
	Path []byte // from the top of the work tree
}

func (s Staged) equal(o Staged) bool {
	return s.Mode == o.Mode && s.Blob == o.Blob && bytes.Equal(s.Path, o.Path)
}

func (s Staged) removed() bool { return s.Mode == "000000" }

// Stash is an entry of the stash.
type Stash struct {
	Commit  string
	Message string
}

// Limits of what is listed: names, and differences of the index. A repository with more is followed without them.
const (
	maxRefs   = 5000
	maxStaged = 2000
)

// refs returns where the branches and the stash are now. It starts git only if a file of git's has changed.
func (g *git) refs(ctx context.Context) Refs {
	if g == nil {
		return Refs{}
	}
	state := g.state()
	g.mu.Lock()
	known := g.known
	g.mu.Unlock()
	if state != known.state {
		known = g.names(ctx)
		known.state = state
	}
	if index := stampOfFile(filepath.Join(g.dir, "index")) + known.Commit; index != known.index {
		known.Staged, known.Unlisted = g.staged(ctx, known.Commit)
		known.index = index
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known = known
	return known
}

// names returns where the branches and the stash are.
func (g *git) names(ctx context.Context) Refs {
	r := Refs{Names: map[string]string{}, Up: strings.Repeat("../", strings.Count(g.prefix, "/"))}
	head, _ := readRegular(filepath.Join(g.dir, "HEAD"), 64<<10)
	r.Head = strings.TrimPrefix(strings.TrimSpace(string(head)), "ref: ")
	out, _ := ask(ctx, g.top, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	r.Commit = strings.TrimSpace(string(out))
	out, _ = ask(ctx, g.top, "for-each-ref", fmt.Sprintf("--count=%d", maxRefs), "--format=%(objectname) %(refname)")
	for line := range strings.Lines(string(out)) {
		if commit, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name != "refs/stash" {
			r.Names[name] = commit
		}
	}
	log, _ := readRegular(filepath.Join(g.common, "logs", "refs", "stash"), 16<<20)
	for line := range bytes.Lines(log) { // old name, new name, who and when, tab, message
		who, message, _ := strings.Cut(strings.TrimSpace(string(line)), "\t")
		if f := strings.Fields(who); len(f) > 1 {
			r.Stash = append(r.Stash, Stash{f[1], message})
		}
	}
	return r
}

// staged returns how the index differs from a commit.
func (g *git) staged(ctx context.Context, commit string) (all []Staged, unlisted bool) {
	if commit == "" {
		return nil, true
	}
	out, err := ask(ctx, g.top, "diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "--ignore-submodules=dirty", commit, "--")
	fields := strings.Split(string(out), "\x00")
	for ; len(fields) > 1 && err == nil; fields = fields[2:] { // ":100644 100644 OLD NEW M", path
		f := strings.Fields(fields[0])
		if len(f) < 5 || f[4] == "U" || len(all) == maxStaged {
			return nil, true
		}
		all = append(all, Staged{f[1], f[3], []byte(fields[1])})
	}
	return all, err != nil
}

// RefsOf returns where the branches, the stash and the index of the repository of a directory are, and those contents of other staged paths that git
// does not have any more, by their names.
func RefsOf(ctx context.Context, dir string, other []Staged) (now Refs, gone map[string]bool) {
	g := openGit(ctx, dir)
	defer g.close()
	gone = map[string]bool{}
	for _, s := range other {
		if !s.removed() && s.Mode != "160000" {
			if _, err := g.blob(s.Blob); errors.Is(err, ErrGone) {
				gone[s.Blob] = true
			}
		}
	}
	return g.refs(ctx), gone
}

func stampOfFile(name string) string {
	info, err := os.Lstat(name)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %d %d\n", name, info.ModTime().UnixNano(), info.Size())
}

// state returns the stamps of the files in which git keeps its branches and the stash.
func (g *git) state() string {
	var b strings.Builder
	note := func(name string) { b.WriteString(stampOfFile(name)) }
	note(filepath.Join(g.dir, "HEAD"))
	note(filepath.Join(g.dir, "logs", "HEAD"))
	for _, name := range []string{"packed-refs", "reftable/tables.list", "objects", "objects/pack", "logs/refs/stash"} {
		note(filepath.Join(g.common, name))
	}
	n := 0
	_ = filepath.WalkDir(filepath.Join(g.common, "refs"), func(name string, _ fs.DirEntry, err error) error {
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
	data, _ := readRegular(filepath.Join(g.common, "info", "exclude"), 1<<20)
	return gitignore.Add(nil, "", data)
}

// BackTo returns the git commands that put back what a command moved from before to r. They change branches, the stash and the index,
// and no file. Git refuses to move a branch that is not as the command left it. Where the repository is gone, there are none.
func (r Refs) BackTo(before Refs) [][]string {
	if before.Commit == "" && before.Names == nil || r.Gone(before) {
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
	if before.Commit != "" && (r.Commit != before.Commit || !before.Unlisted && !r.SameIndex(before)) {
		cmds = append(cmds, []string{"git", "read-tree", before.Commit})
		cmds = append(cmds, before.stage()...)
	}
	return cmds
}

// Gone reports whether the repository that was there before has no HEAD any more.
func (r Refs) Gone(before Refs) bool { return r.Head == "" && before.Head != "" }

// SameIndex reports whether the indexes differ from their commits in the same way.
func (r Refs) SameIndex(o Refs) bool {
	return r.Unlisted == o.Unlisted && slices.EqualFunc(r.Staged, o.Staged, Staged.equal)
}

// stage returns the git commands that stage what was staged, after the index was made as the commit.
func (r Refs) stage() (cmds [][]string) {
	git := []string{"git", "update-index"}
	if r.Up != "" {
		git = []string{"git", "-C", r.Up, "update-index"}
	}
	for part := range slices.Chunk(r.Staged, 100) {
		add, remove := append(slices.Clone(git), "--add"), append(slices.Clone(git), "--force-remove", "--")
		for _, s := range part {
			if s.removed() {
				remove = append(remove, string(s.Path))
			} else {
				add = append(add, "--cacheinfo", s.Mode+","+s.Blob+","+string(s.Path))
			}
		}
		if len(remove) > len(git)+2 {
			cmds = append(cmds, remove)
		}
		if len(add) > len(git)+1 {
			cmds = append(cmds, add)
		}
	}
	return cmds
}
