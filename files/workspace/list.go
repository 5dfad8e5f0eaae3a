package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/stet-dev/stet/internal/atomicfile"
	"github.com/stet-dev/stet/internal/gitignore"
)

// Entry is an entry of a directory.
type Entry struct {
	Path    Path
	Kind    Kind // Link for a link, independent of its target
	Ignored bool // by git's ignore rules; true for .git itself
	Depth   int  // depth below the start of the walk, from 1

	// Unreadable is the error if a directory could not be read; otherwise nil.
	Unreadable error

	root *Root
	dir  *atomicfile.Dir // the directory of the entry
}

// Stream is Root.Stream for a file. It may be called only while the entry is visited. It is faster, because the file's
// directory is open.
func (e Entry) Stream() (io.ReadCloser, Info, error) {
	f, err := e.root.openIn(e.dir, path.Base(e.Path.name), e.Path)
	if err != nil {
		return nil, Info{}, wrap("read", e.Path.name, err)
	}
	return f.stream(), infoOf(f.path, f.stat), nil
}

// ListOptions says what Walk visits. The zero value is everything that git's rules do not ignore.
type ListOptions struct {
	Ignored bool // also visit ignored entries
	Depth   int  // number of levels that are visited; 0: all
}

// Walk visits the entries below a directory. Entries are sorted by name, and a directory comes before its entries. Walk
// does not follow links. It enters ignored directories only if ListOptions.Ignored is set. It does not visit temporary
// files of stet and its state directory. If visit returns fs.SkipDir for a directory, Walk does not enter it. fs.SkipAll
// ends the walk. Any other error of visit ends the walk too, and is returned unchanged. The ignore rules are those of
// .gitignore files and .git/info/exclude. A file that matches them is ignored even if git tracks it. Walk starts no
// process.
func (r *Root) Walk(ctx context.Context, p Path, o ListOptions, visit func(Entry) error) error {
	if err := r.enter(); err != nil {
		return wrap("list", p.name, err)
	}
	defer r.leave()
	w := &walker{r: r, ctx: ctx, opt: o, visit: visit}
	dir, canonical, rules, err := r.openDir(p)
	if err != nil {
		return wrap("list", p.name, err)
	}
	defer dir.Close()
	entries, err := readEntries(dir)
	if err == nil {
		err = w.dir(dir, entries, canonical, rules, 1)
	}
	if errors.Is(err, fs.SkipAll) || errors.Is(err, fs.SkipDir) {
		return nil
	}
	var v visitError
	if errors.As(err, &v) {
		return v.error
	}
	return wrap("list", p.name, err)
}

// visitError is an error of visit.
type visitError struct{ error }

// openDir opens a directory. It returns its canonical path, which is "" for the root, and the ignore rules of the
// directories above it.
func (r *Root) openDir(p Path) (*atomicfile.Dir, string, *gitignore.Rules, error) {
	pl, err := r.resolve(p.name, resolving{})
	if err != nil {
		return nil, "", nil, err
	}
	defer pl.close()
	if r.rules.isState(pl.path) {
		return nil, "", nil, because(ErrProtected, "it belongs to stet itself")
	}
	d, err := pl.dir.Sub(pl.name)
	if errors.Is(err, atomicfile.ErrNotDir) {
		err = because(ErrPath, "it is not a directory")
	}
	if err != nil {
		return nil, "", nil, err
	}
	rules, names := r.exclude(), split(path.Join("/", pl.path))
	for i := range names {
		rules = addRules(rules, pl.stack[i], path.Join(names[:i]...))
	}
	return d, path.Join(names...), rules, nil
}

const ignoreFile = ".gitignore"

// maxRules is the size limit of an ignore file, in bytes. A larger file is not read.
const maxRules = mb

// exclude returns the rules in .git/info/exclude.
func (r *Root) exclude() *gitignore.Rules {
	f, err := r.openAny(Path{name: ".git/info/exclude"})
	if err != nil {
		return nil
	}
	return addFile(nil, "", f.File)
}

func addRules(rules *gitignore.Rules, d *atomicfile.Dir, dir string) *gitignore.Rules {
	f, err := d.Open(ignoreFile)
	if err != nil {
		return rules
	}
	return addFile(rules, dir, f)
}

// addFile reads rules from f and closes it.
func addFile(rules *gitignore.Rules, dir string, f *os.File) *gitignore.Rules {
	defer f.Close()
	st, err := atomicfile.StatFile(f)
	if err != nil || !st.Mode.IsRegular() || st.Size > maxRules {
		return rules
	}
	data, err := readFull(context.Background(), f, st.Size, maxRules)
	if err != nil {
		return rules
	}
	return gitignore.Add(rules, dir, data)
}

type walker struct {
	r     *Root
	ctx   context.Context
	opt   ListOptions
	visit func(Entry) error
}

// dir visits the entries of one directory. name is its path, which is "" for the root.
func (w *walker) dir(d *atomicfile.Dir, entries []fs.DirEntry, name string, rules *gitignore.Rules, depth int) error {
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.EqualFold(e.Name(), ignoreFile) }) {
		rules = addRules(rules, d, name)
	}
	if name != "" {
		name += "/"
	}
	for _, de := range entries {
		if err := w.ctx.Err(); err != nil { // a directory may have a million entries, and rules that take time for each
			return err
		}
		e := Entry{Path: Path{name: name + de.Name()}, Kind: kindOf(de.Type()), Depth: depth, root: w.r, dir: d}
		if !w.shown(&e, de.Name(), rules) {
			continue
		}
		if err := w.entry(d, de, e, rules); err != nil {
			return err
		}
	}
	return nil
}

// shown reports whether an entry is visited.
func (w *walker) shown(e *Entry, base string, rules *gitignore.Rules) bool {
	if strings.HasPrefix(base, tempPrefix) && strings.HasSuffix(base, tempEnd) || w.r.rules.isState(e.Path.name) {
		return false
	}
	e.Ignored = base == ".git" || rules.Ignored(e.Path.name, e.Kind == Directory)
	return w.opt.Ignored || !e.Ignored
}

func (w *walker) entry(d *atomicfile.Dir, de fs.DirEntry, e Entry, rules *gitignore.Rules) error {
	into := e.Kind == Directory && (w.opt.Depth == 0 || e.Depth < w.opt.Depth)
	var sub *atomicfile.Dir
	var entries []fs.DirEntry
	if into {
		var err error
		if sub, err = d.Sub(de.Name()); err == nil {
			defer sub.Close()
			entries, err = readEntries(sub)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		if err != nil {
			e.Unreadable, into = wrap("list", e.Path.name, err), false
		}
	}
	if err := w.visit(e); errors.Is(err, fs.SkipDir) && e.Kind == Directory {
		return nil
	} else if errors.Is(err, fs.SkipAll) || errors.Is(err, fs.SkipDir) {
		return fs.SkipAll
	} else if err != nil {
		return visitError{err}
	}
	if !into {
		return nil
	}
	return w.dir(sub, entries, e.Path.name, rules, e.Depth+1)
}

// readEntries returns a directory's entries, sorted by name.
func readEntries(d *atomicfile.Dir) ([]fs.DirEntry, error) {
	f, err := d.List()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// Ignored reports whether git's rules ignore a path, or a directory above it.
func (r *Root) Ignored(p Path) (bool, error) {
	return do(r, "list", p.name, func() (bool, error) { return r.ignored(p), nil })
}

func (r *Root) ignored(p Path) bool {
	rules, at, name := r.exclude(), r.dir, ""
	parts := split(p.name)
	for i, c := range parts {
		rules = addRules(rules, at, name)
		name = path.Join(name, c)
		if c == ".git" {
			return true
		}
		sub, err := at.Sub(c)
		if rules.Ignored(name, err == nil) {
			if err == nil {
				_ = sub.Close()
			}
			return true
		}
		if err != nil {
			// c is a file, a link, or missing. Below it there are no more rules.
			rest := path.Join(parts[i:]...)
			return rules.Ignored(path.Join(path.Dir(name), rest), false)
		}
		defer sub.Close()
		at = sub
	}
	return false
}
