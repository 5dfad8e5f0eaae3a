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

// Stamp is what the system says of a file, short of its content. Two stamps
// that differ say "look again"; two that are equal say "the same" only if the
// stamp was Settled when it was taken. Stamps can be compared and be keys.
type Stamp struct {
	Dev, Ino     uint64 // 0 where the system tells no identity
	Size         int64  // bytes
	Mtime, Ctime int64  // nanoseconds since 1970
}

func stampOf(st atomicfile.Stat) Stamp {
	return Stamp{st.Dev, st.Ino, st.Size, st.Mtime, st.Ctime}
}

// unsettled is how long after a change another one may leave no trace in the
// file's times.
const unsettled = 2 * time.Second

// Settled reports whether the last change lies so far before now, when the
// stamp was taken, that any later one shows in the stamp.
func (s Stamp) Settled(now time.Time) bool {
	last := max(s.Mtime, s.Ctime)
	return now.UnixNano()-last > int64(unsettled)
}

// Info is what there is at a path.
type Info struct {
	Path     Path // canonical: links resolved, spelled as on disk
	Kind     Kind
	Class    Class
	Size     int64 // bytes
	Mode     fs.FileMode
	ModTime  time.Time
	Links    uint64 // names that the file has; more than 1 may be outside
	Stamp    Stamp
	Writable bool // by the system's rules, for this process
	Parent   bool // the directory it is in, or would be in, is there
}

// Executable reports whether somebody may execute the file.
func (i Info) Executable() bool { return i.Kind == File && i.Mode&0o111 != 0 }

func infoOf(canonical string, st atomicfile.Stat) Info {
	return Info{
		Path: Path{name: canonical}, Kind: kindOf(st.Mode), Size: st.Size, Mode: st.Mode,
		ModTime: time.Unix(0, st.Mtime), Links: st.Links, Stamp: stampOf(st), Parent: true,
	}
}

// Stat says what there is at a path, links followed. Where there is nothing the
// error is ErrNotFound, and Info still says where it would be, and of what
// class: Kind is Missing, Path and Class are those of the file to be made. It
// is the question to ask before anybody is asked about a write. (FILE-6)
func (r *Root) Stat(p Path) (Info, error) {
	if err := r.enter(); err != nil {
		return Info{}, wrap("stat", p.name, err)
	}
	defer r.leave()
	info, err := r.stat(p)
	return info, wrap("stat", p.name, err)
}

func (r *Root) stat(p Path) (Info, error) {
	if p.name == "" {
		return Info{}, because(ErrPath, "it is empty")
	}
	would := Info{Path: Path{name: p.name}, Class: r.rules.byName(p.name)}
	pl, err := r.resolve(p.name, resolving{stats: true, mkdir: func(canonical string, entered []*atomicfile.Dir) error {
		would = Info{Path: Path{name: canonical}, Class: r.class(canonical, entered)}
		return fs.ErrNotExist
	}})
	if err != nil {
		return would, err
	}
	defer pl.close()
	st, err := pl.dir.Stat(pl.name)
	if errors.Is(err, fs.ErrNotExist) {
		return Info{Path: Path{name: pl.path}, Class: r.classOf(pl, nil), Parent: true}, err
	}
	if err != nil {
		return Info{}, err
	}
	info := infoOf(pl.path, st)
	info.Class = r.classOf(pl, &st)
	if info.Class == Own {
		return Info{Path: info.Path, Class: Own}, because(ErrProtected, "it belongs to stet itself")
	}
	info.Writable = pl.dir.Writable(pl.name)
	if p.dir && info.Kind == File {
		return info, because(ErrNotFound, "it is a file, not a directory")
	}
	return info, nil
}

// statFast tells of a path of ours without following links.
func (r *Root) statFast(name string) (atomicfile.Stat, error) {
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
