package workspace

import (
	"errors"
	"io/fs"
	"path"
	"time"

	"github.com/stet-dev/stet/internal/atomicfile"
)

// Kind says what is at a path.
type Kind int

// The kinds.
const (
	Missing Kind = iota
	File
	Directory
	Link    // only in listings: all other operations follow links
	Special // a device, a socket or a pipe: every operation refuses it
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

// Stamp is the system's data about a file, without its content. If two stamps differ, the file must be examined again. Two
// equal stamps mean the same content only if the stamp was Settled when it was taken. Stamps can be compared and used as
// keys.
type Stamp struct {
	Dev, Ino     uint64 // 0 if the system does not identify files
	Size         int64  // bytes
	Mtime, Ctime int64  // nanoseconds since 1970
}

func stampOf(st atomicfile.Stat) Stamp {
	return Stamp{st.Dev, st.Ino, st.Size, st.Mtime, st.Ctime}
}

// unsettled is the time after a change in which another change may not change the file's times.
const unsettled = 2 * time.Second

// Settled reports whether every later change will change the stamp, because the last change was more than 2 s before now. The
// argument is the time at which the stamp was taken.
func (s Stamp) Settled(now time.Time) bool {
	last := max(s.Mtime, s.Ctime)
	return now.UnixNano()-last > int64(unsettled)
}

// Info is the system's data about something that exists.
type Info struct {
	Path    Path // canonical: with links resolved, and spelled as on disk
	Kind    Kind
	Size    int64 // bytes
	Mode    fs.FileMode
	ModTime time.Time
	Links   uint64 // number of names of the file; if it is more than 1, a name may be outside the tree
	Stamp   Stamp
}

func infoOf(canonical string, st atomicfile.Stat) Info {
	return Info{
		Path: Path{name: canonical}, Kind: kindOf(st.Mode), Size: st.Size, Mode: st.Mode,
		ModTime: time.Unix(0, st.Mtime), Links: st.Links, Stamp: stampOf(st),
	}
}

// Target is the result of Inspect: what is known about a path before it is read or written.
type Target struct {
	Info // if nothing is at the path, Kind is Missing, and Path says where the file would be

	Class    Class
	Writable bool   // the file exists, and this process may write it
	Parent   Parent // of a file, or of a path at which nothing is
	NewDirs  int    // number of missing directories: the last ones above Path's name
}

// Parent is the deepest existing entry above a path.
type Parent struct {
	Path     Path
	Kind     Kind // Directory, or File if a file is where a directory is needed
	Writable bool // files can be made in it
}

// Exists reports whether something is at the path.
func (t Target) Exists() bool { return t.Kind != Missing }

// Caution is a set of reasons to ask a person before a file is written.
type Caution uint8

// The reasons.
const (
	ControlFile    Caution = 1 << iota // its Class is Control
	OtherNames                         // the file has other names, which will keep the old content
	ExecutableFile                     // the file may be executed
)

// Cautions returns the reasons to ask before the target is written.
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

// Inspect says what is at a path. It follows links. If nothing is there, the error is ErrNotFound, and the Target says
// where the file would be, and its class. Callers use it before a person is asked about a write.
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

// withoutDirs returns the target of a path with missing directories. entered are the existing ones, the root first.
func (r *Root) withoutDirs(canonical string, entered []*atomicfile.Dir) Target {
	parts := split(path.Dir("/" + canonical))
	above := min(len(entered)-1, len(parts))
	return Target{
		Info: Info{Path: Path{name: canonical}}, Class: r.class(canonical, entered, true), NewDirs: len(parts) - above,
		Parent: parentOf(path.Join(".", path.Join(parts[:above]...)), entered[len(entered)-1]),
	}
}

func parentOf(canonical string, d *atomicfile.Dir) Parent {
	return Parent{Path: Path{name: canonical}, Kind: Directory, Writable: d.Writable(".") == nil}
}

// statOwn examines a path that the package itself names. It follows no links.
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
