package workspace

import (
	"errors"
	"io/fs"
	"path"
	"time"

	"github.com/stet-dev/stet/internal/atomicfile"
)

// Kind says what there is at a path.
type Kind int

// The kinds.
const (
	Missing Kind = iota
	File
	Directory
	Link    // in listings only: elsewhere links are followed
	Special // a device, a socket, a pipe: refused for everything
)

func (k Kind) String() string {
	return [...]string{"missing", "file", "directory", "link", "special"}[k]
}

func kindOf(m fs.FileMode) Kind {
	switch {
	case m.IsRegular():
		return File
	case m.IsDir():
		return Directory
	case m&fs.ModeSymlink != 0:
		return Link
	}
	return Special
}

// Stamp is what the system says of a file, without its content. Two stamps that
// differ mean that the file has to be looked at again. Two equal stamps mean the
// same content only if the stamp was Settled when it was taken. Stamps can be
// compared and be keys.
type Stamp struct {
	Dev, Ino     uint64 // 0 where the system tells no identity
	Size         int64  // bytes
	Mtime, Ctime int64  // nanoseconds since 1970
}

func stampOf(st atomicfile.Stat) Stamp {
	return Stamp{st.Dev, st.Ino, st.Size, st.Mtime, st.Ctime}
}

// unsettled is the time after a change in which another change may leave the
// file's times as they are.
const unsettled = 2 * time.Second

// Settled reports whether the last change lies so far before now, the time at
// which the stamp was taken, that every later change shows in the stamp.
func (s Stamp) Settled(now time.Time) bool {
	last := max(s.Mtime, s.Ctime)
	return now.UnixNano()-last > int64(unsettled)
}

// Info is what the system says of something that is there.
type Info struct {
	Path    Path // canonical: links resolved, spelled as on disk
	Kind    Kind
	Size    int64 // bytes
	Mode    fs.FileMode
	ModTime time.Time
	Links   uint64 // names that the file has; more than 1 may be outside
	Stamp   Stamp
}

func infoOf(canonical string, st atomicfile.Stat) Info {
	return Info{
		Path: Path{name: canonical}, Kind: kindOf(st.Mode), Size: st.Size, Mode: st.Mode,
		ModTime: time.Unix(0, st.Mtime), Links: st.Links, Stamp: stampOf(st),
	}
}

// Target is the answer of Inspect: all that is known of a path before it is read
// or written.
type Target struct {
	Info // Kind is Missing where there is nothing, and Path says where it would be

	Class    Class
	Writable bool   // the file exists, and this process may write to it
	Parent   Parent // of a file, or of a path where there is nothing
	NewDirs  int    // missing directories: the last so many above Path's name
}

// Parent is the deepest entry above a path that is there.
type Parent struct {
	Path     Path
	Kind     Kind // Directory, or File where a file takes a directory's place
	Writable bool // files can be made in it
}

// Exists reports whether there is something at the path.
func (t Target) Exists() bool { return t.Kind != Missing }

// Caution is a set of reasons to ask a person before a file is written to.
type Caution uint8

// The reasons.
const (
	ControlFile    Caution = 1 << iota // its Class is Control
	OtherNames                         // it has more names, and they will keep the old content
	ExecutableFile                     // it may be executed (FILE-13)
)

// Cautions returns the reasons to ask before the target is written to.
func (t Target) Cautions() Caution {
	var c Caution
	if t.Class == Control {
		c |= ControlFile
	}
	if t.Kind == File && t.Links > 1 {
		c |= OtherNames
	}
	if t.Kind == File && t.Mode&0o111 != 0 {
		c |= ExecutableFile
	}
	return c
}

// Inspect says what there is at a path. Links are followed. Where there is
// nothing the error is ErrNotFound, and the Target still says where the file
// would be and what it would be. It is to be called before a person is asked
// about a write. (FILE-6)
func (r *Root) Inspect(p Path) (Target, error) {
	return do(r, "stat", p.name, func() (Target, error) { return r.inspect(p) })
}

func (r *Root) inspect(p Path) (Target, error) {
	if p.name == "" {
		return Target{}, because(ErrPath, "it is empty")
	}
	for range maxTries {
		if t, err := r.inspectOnce(p); !errors.Is(err, errMoved) {
			return t, err
		}
	}
	return Target{}, because(ErrNotFound, "")
}

// inspectOnce returns errMoved if the file is removed while it is inspected.
func (r *Root) inspectOnce(p Path) (Target, error) {
	t := Target{Info: Info{Path: Path{name: p.name}}, Class: r.rules.byName(p.name)}
	pl, err := r.resolve(p.name, resolving{stats: true, missing: func(canonical string, entered []*atomicfile.Dir) error {
		t = r.withoutDirs(canonical, entered)
		return fs.ErrNotExist
	}})
	if blocked := (*notDirectory)(nil); errors.As(err, &blocked) {
		t.Parent = Parent{Path: Path{name: blocked.path}, Kind: File}
	}
	if err != nil {
		return t, err
	}
	defer pl.close()
	parent := parentOf(path.Dir(pl.path), pl.dir)
	st, err := pl.dir.Stat(pl.name)
	if errors.Is(err, fs.ErrNotExist) {
		return Target{Info: Info{Path: Path{name: pl.path}}, Class: r.classOf(pl, nil), Parent: parent}, err
	}
	if err != nil {
		return Target{}, err
	}
	t = Target{Info: infoOf(pl.path, st), Class: r.classOf(pl, &st), Parent: parent}
	if t.Class == Own {
		return Target{Info: Info{Path: t.Path}, Class: Own}, because(ErrProtected, "it belongs to stet itself")
	}
	err = pl.dir.Writable(pl.name)
	if errors.Is(err, fs.ErrNotExist) {
		return Target{}, errMoved
	}
	t.Writable = err == nil
	if p.dir && t.Kind == File {
		return t, because(ErrNotFound, "it is a file, not a directory")
	}
	return t, nil
}

// withoutDirs is the target at a path whose directories are missing, except for
// those that were entered, the root first.
func (r *Root) withoutDirs(canonical string, entered []*atomicfile.Dir) Target {
	parts := split(path.Dir("/" + canonical))
	above := min(len(entered)-1, len(parts))
	return Target{
		Info: Info{Path: Path{name: canonical}}, Class: r.class(canonical, entered), NewDirs: len(parts) - above,
		Parent: parentOf(path.Join(".", path.Join(parts[:above]...)), entered[len(entered)-1]),
	}
}

func parentOf(canonical string, d *atomicfile.Dir) Parent {
	return Parent{Path: Path{name: canonical}, Kind: Directory, Writable: d.Writable(".") == nil}
}

// statOwn looks at a path that the package itself names. It follows no links.
func (r *Root) statOwn(name string) (atomicfile.Stat, error) {
	parent, base := path.Split(name)
	if parent == "" {
		return r.dir.Stat(base)
	}
	d, err := r.dir.Find(path.Clean(parent))
	if errors.Is(err, errors.ErrUnsupported) {
		pl, err := r.resolve(name, resolving{})
		if err != nil {
			return atomicfile.Stat{}, err
		}
		defer pl.close()
		return pl.dir.Stat(pl.name)
	}
	if err != nil {
		return atomicfile.Stat{}, err
	}
	defer d.Close()
	return d.Stat(base)
}
