package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/text/unicode/norm"

	"github.com/stet-dev/stet/internal/atomicfile"
)

// place is a name in an open directory. It is where an operation happens, after all links on the way were followed. When
// the name was examined, it was not a link.
type place struct {
	dir   *atomicfile.Dir
	name  string // "." if the place is the directory itself
	path  string // canonical: relative to the root, without links
	stack []*atomicfile.Dir
	above []atomicfile.Stat // of the directories on the way, without the root
	made  []madeDir         // the directories that were made on the way, from the root down
}

// madeDir is a directory that a walk has made.
type madeDir struct {
	at   int // index in the stack of the directory that it is in
	name string
}

// lastMade returns how many directories directly above the place were made.
func (p *place) lastMade() int {
	n := 0
	for i, m := range slices.Backward(p.made) {
		if m.at != len(p.stack)-2-n {
			break
		}
		n = len(p.made) - i
	}
	return n
}

func (p *place) close() {
	for _, d := range p.stack[1:] {
		_ = d.Close()
	}
	p.stack = p.stack[:1]
}

// resolving has the options of resolve.
type resolving struct {
	dotdot bool // ".." is allowed
	stats  bool // fill place.above

	// missing is called if a directory is missing. canonical is the whole path. entered are the existing directories on the
	// way, the root first. If missing returns nil, the directory is made. If missing is nil, the directory is not made.
	missing func(canonical string, entered []*atomicfile.Dir) error
}

// notDirectory means that a path leads through something that is not a directory.
type notDirectory struct{ path string }

func (e *notDirectory) Error() string { return e.path + " is not a directory" }

func (e *notDirectory) Unwrap() error { return atomicfile.ErrNotDir }

const (
	maxLinks = 40
	maxTries = 64 // of a step that fails because other programs change the names
)

// outside is the error for a link or ".." that leaves the root.
func outside() error {
	return &Error{Err: ErrPath, Detail: "it leads outside the workspace", Outside: true}
}

// walk is the state of resolve: the open directories on the way, their names, and the names that remain.
type walk struct {
	r     *Root
	how   resolving
	stack []*atomicfile.Dir
	names []string
	todo  []string
	links int
	made  []madeDir
}

// resolve walks name from the root, one component at a time, each by descriptor. The system never follows a link. Instead,
// resolve puts the components of the link's target before the names that remain.
func (r *Root) resolve(name string, how resolving) (*place, error) {
	w := &walk{r: r, how: how, stack: []*atomicfile.Dir{r.dir}, todo: split(name)}
	pl, err := w.run()
	if err != nil {
		unmake(w.stack, w.made)
		w.popTo(1)
		return nil, err
	}
	return pl, nil
}

// unmake removes directories that were made, the deepest one first. It stops at a directory that is not empty.
func unmake(stack []*atomicfile.Dir, made []madeDir) {
	for _, m := range slices.Backward(made) {
		if stack[m.at].RemoveDir(m.name) != nil {
			return
		}
	}
}

func split(name string) []string {
	return strings.FieldsFunc(name, func(c rune) bool { return c == '/' })
}

func (w *walk) run() (*place, error) {
	for len(w.todo) > 0 {
		c := w.todo[0]
		w.todo = w.todo[1:]
		switch c {
		case ".":
			continue
		case "..":
			if len(w.stack) == 1 {
				return nil, outside()
			}
			w.popTo(len(w.stack) - 1)
			continue
		}
		last := len(w.todo) == 0
		next, err := w.step(c, last)
		if err != nil {
			return nil, err
		}
		if last && next != "" {
			return w.place(next)
		}
	}
	return w.place(".")
}

// step walks one component. If it is the last one and not a link, step returns the name under which it is found.
func (w *walk) step(c string, last bool) (string, error) {
	for range maxTries {
		cur := w.stack[len(w.stack)-1]
		st, err := cur.Stat(c)
		if errors.Is(err, fs.ErrNotExist) {
			if other := respell(cur, c); other != "" {
				c = other
				continue
			}
			if last {
				return c, nil
			}
			if w.how.missing == nil {
				return "", err
			}
			if err := w.how.missing(path.Join(path.Join(w.names...), c, path.Join(w.todo...)), w.stack); err != nil {
				return "", err
			}
			err := cur.Mkdir(c, 0o777)
			if err == nil {
				w.made = append(w.made, madeDir{len(w.stack) - 1, c})
			} else if !errors.Is(err, fs.ErrExist) {
				return "", err
			}
			if err := cur.Sync(); err != nil {
				return "", err
			}
			continue
		}
		if err != nil {
			return "", err
		}
		switch {
		case st.Mode&fs.ModeSymlink != 0:
			err = w.follow(cur, c)
		case last:
			return c, nil
		default:
			if err = w.push(cur, c); errors.Is(err, atomicfile.ErrNotDir) {
				err = &notDirectory{path.Join(append(w.names, c)...)}
			}
		}
		if errors.Is(err, atomicfile.ErrLink) {
			continue // it has changed: examine it again
		}
		return "", err
	}
	return "", because(ErrPath, "links keep changing")
}

func (w *walk) push(cur *atomicfile.Dir, c string) error {
	sub, err := cur.Sub(c)
	if err != nil {
		return err
	}
	w.stack = append(w.stack, sub)
	w.names = append(w.names, c)
	return nil
}

func (w *walk) follow(cur *atomicfile.Dir, c string) error {
	if w.links++; w.links > maxLinks {
		return because(ErrPath, "too many links, or links in a circle")
	}
	to, err := cur.Readlink(c)
	if err != nil {
		return atomicfile.ErrLink // it is not a link any more
	}
	to = filepath.ToSlash(to)
	if strings.HasPrefix(to, "/") || filepath.IsAbs(filepath.FromSlash(to)) {
		rest, ok := w.r.inside(to)
		if !ok {
			return outside()
		}
		w.popTo(1)
		to = rest
	}
	w.todo = append(split(to), w.todo...)
	return nil
}

func (w *walk) popTo(n int) {
	for len(w.stack) > n {
		_ = w.stack[len(w.stack)-1].Close()
		w.stack = w.stack[:len(w.stack)-1]
		w.names = w.names[:len(w.names)-1]
	}
	w.made = slices.DeleteFunc(w.made, func(m madeDir) bool { return m.at >= n })
}

func (w *walk) place(name string) (*place, error) {
	p := &place{dir: w.stack[len(w.stack)-1], name: name, stack: w.stack, made: w.made}
	p.path = path.Join(append(w.names, name)...)
	if !w.how.stats {
		return p, nil
	}
	for _, d := range w.stack[1:] {
		st, err := d.Self()
		if err != nil {
			return nil, err
		}
		p.above = append(p.above, st)
	}
	return p, nil
}

// respell finds a name in a directory that differs only in its Unicode composition. It returns "" if there is none.
func respell(d *atomicfile.Dir, name string) string {
	if isASCII(name) {
		return ""
	}
	list, err := d.List()
	if err != nil {
		return ""
	}
	defer list.Close()
	want := norm.NFC.String(name)
	for {
		names, err := list.Readdirnames(1024)
		for _, n := range names {
			if n != name && !isASCII(n) && norm.NFC.String(n) == want {
				return n
			}
		}
		if err != nil {
			return ""
		}
	}
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// opened is a regular file that is open for reading, and its path.
type opened struct {
	*os.File
	stat atomicfile.Stat
	path string
}

// open opens a regular file. It needs only one step if no link is on the way.
func (r *Root) open(p Path) (*opened, error) {
	if p.name == "" {
		return nil, because(ErrPath, "it is empty")
	}
	f, err := r.openAny(p)
	if err != nil {
		return nil, err
	}
	err = r.readable(f, p)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// openIn opens a file in dir by its name. p is the path of the file.
func (r *Root) openIn(dir *atomicfile.Dir, name string, p Path) (*opened, error) {
	file, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	f := &opened{File: file, path: p.name}
	if f.stat, err = atomicfile.StatFile(file); err == nil {
		err = r.readable(f, p)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return f, nil
}

func (r *Root) readable(f *opened, p Path) error {
	switch {
	case r.rules.isState(f.path):
		return because(ErrProtected, "it belongs to stet itself")
	case f.stat.Mode.IsDir():
		return because(ErrIsDirectory, "")
	case !f.stat.Mode.IsRegular():
		return because(ErrSpecial, "")
	case p.dir:
		return because(ErrNotFound, "it is a file, not a directory")
	}
	return nil
}

func (r *Root) openAny(p Path) (*opened, error) {
	f, err := r.dir.Open(p.name)
	where := p.name
	switch {
	case errors.Is(err, atomicfile.ErrLink), errors.Is(err, errors.ErrUnsupported), errors.Is(err, atomicfile.ErrNotDir):
		f, where, err = r.openSlowly(p.name)
	case errors.Is(err, fs.ErrNotExist) && !isASCII(p.name), errors.Is(err, syscall.ENAMETOOLONG): // the whole path may be too long, although no name in it is
		f, where, err = r.openSlowly(p.name)
	}
	if err != nil {
		return nil, err
	}
	st, err := atomicfile.StatFile(f)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &opened{File: f, stat: st, path: where}, nil
}

func (r *Root) openSlowly(name string) (*os.File, string, error) {
	for range maxTries {
		pl, err := r.resolve(name, resolving{})
		if err != nil {
			return nil, "", err
		}
		var f *os.File
		if pl.name == "." {
			f, err = pl.dir.List()
		} else {
			f, err = pl.dir.Open(pl.name)
		}
		pl.close()
		if !errors.Is(err, atomicfile.ErrLink) {
			return f, pl.path, err
		}
	}
	return nil, "", because(ErrPath, "links keep changing")
}
