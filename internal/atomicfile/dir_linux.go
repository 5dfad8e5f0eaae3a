package atomicfile

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Dir is an open directory. It may be used by several goroutines until it is
// closed.
type Dir struct {
	fd    int
	syncs syncs
	slow  atomic.Bool // the kernel has no openat2
}

const (
	pathFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fileFlags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	beneath   = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS
)

// OpenDir opens a directory by any path, links followed.
func OpenDir(path string) (*Dir, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return &Dir{fd: fd}, nil
}

// Close releases the descriptor. It must be called once, when no goroutine uses the directory any more.
func (d *Dir) Close() error { return unix.Close(d.fd) }

// Sub opens the directory of this name. ErrLink and ErrNotDir say that the name is something else.
func (d *Dir) Sub(name string) (*Dir, error) {
	fd, err := retry(func() (int, error) { return unix.Openat(d.fd, name, pathFlags, 0) })
	if err == unix.ENOTDIR {
		if st, serr := d.Stat(name); serr == nil && st.Mode&fs.ModeSymlink != 0 {
			return nil, ErrLink
		}
	}
	if err != nil {
		return nil, d.fail("open", name, err)
	}
	return &Dir{fd: fd, syncs: d.syncs}, nil
}

// Find opens the directory at a path of several components below d with one system call. errors.ErrUnsupported says that the system
// has no such call.
func (d *Dir) Find(path string) (*Dir, error) {
	fd, err := d.open(path, pathFlags)
	if err != nil {
		return nil, d.fail("open", path, err)
	}
	return &Dir{fd: fd, syncs: d.syncs}, nil
}

// Open opens a file for reading, at a path below d, and never blocks. A pipe or a device is opened like any file; the caller must
// check the type. Paths of several components may be unsupported, as in Find.
func (d *Dir) Open(path string) (*os.File, error) {
	fd, err := d.open(path, fileFlags)
	if err != nil {
		return nil, d.fail("open", path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// StepByStep makes Find and Open unsupported for paths of several components, as on a kernel without openat2.
func (d *Dir) StepByStep() { d.slow.Store(true) }

func (d *Dir) open(path string, flags int) (int, error) {
	if !strings.Contains(path, "/") {
		return retry(func() (int, error) { return unix.Openat(d.fd, path, flags, 0) })
	}
	if d.slow.Load() {
		return -1, unix.ENOTSUP
	}
	how := unix.OpenHow{Flags: uint64(flags), Resolve: beneath}
	for try := 0; ; try++ {
		fd, err := unix.Openat2(d.fd, path, &how)
		switch err {
		case unix.EINTR:
			continue
		case unix.EAGAIN: // something was renamed meanwhile
			if try < 100 {
				continue
			}
		case unix.ENOSYS, unix.EPERM:
			// Sandboxes return EPERM for unknown system calls. If the error is about the file, the walk by single components
			// returns it again.
			if err == unix.ENOSYS {
				d.slow.Store(true)
			}
			return -1, unix.ENOTSUP
		}
		return fd, err
	}
}

// Stat describes the name itself, even if it is a link.
func (d *Dir) Stat(name string) (Stat, error) {
	var st unix.Stat_t
	_, err := retry(func() (int, error) {
		return 0, unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	})
	if err != nil {
		return Stat{}, d.fail("stat", name, err)
	}
	return statOf(&st), nil
}

// Self describes the directory itself.
func (d *Dir) Self() (Stat, error) {
	var st unix.Stat_t
	if err := unix.Fstat(d.fd, &st); err != nil {
		return Stat{}, d.fail("stat", ".", err)
	}
	return statOf(&st), nil
}

// StatFile describes an open file.
func StatFile(f *os.File) (Stat, error) {
	c, err := f.SyscallConn()
	if err != nil {
		return Stat{}, err
	}
	var st unix.Stat_t
	var serr error
	if err := c.Control(func(fd uintptr) { serr = unix.Fstat(int(fd), &st) }); err != nil {
		return Stat{}, err
	}
	if serr != nil {
		return Stat{}, &fs.PathError{Op: "stat", Path: f.Name(), Err: serr}
	}
	return statOf(&st), nil
}

// Readlink returns the target text of the link of this name.
func (d *Dir) Readlink(name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := retry(func() (int, error) { return unix.Readlinkat(d.fd, name, buf) })
	if err != nil {
		return "", d.fail("readlink", name, err)
	}
	return string(buf[:n]), nil
}

// Symlink makes a symbolic link to the text to. The name must be free: otherwise it returns fs.ErrExist.
func (d *Dir) Symlink(to, name string) error {
	if err := unix.Symlinkat(to, d.fd, name); err != nil {
		return d.fail("symlink", name, err)
	}
	return nil
}

// Writable returns nil if this process may write to the file or directory of this name, and otherwise the reason. fs.ErrNotExist
// says that the name does not exist.
func (d *Dir) Writable(name string) error {
	if err := unix.Faccessat(d.fd, name, unix.W_OK, unix.AT_EACCESS|unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return d.fail("access", name, err)
	}
	return nil
}

// Mkdir makes a directory with the permissions perm, reduced by the umask.
func (d *Dir) Mkdir(name string, perm fs.FileMode) error {
	_, err := retry(func() (int, error) { return 0, unix.Mkdirat(d.fd, name, uint32(perm.Perm())) })
	if err != nil {
		return d.fail("mkdir", name, err)
	}
	return nil
}

// Remove removes a name that is not a directory.
func (d *Dir) Remove(name string) error {
	if err := unix.Unlinkat(d.fd, name, 0); err != nil {
		return d.fail("remove", name, err)
	}
	return nil
}

// RemoveDir removes an empty directory.
func (d *Dir) RemoveDir(name string) error {
	if err := unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR); err != nil {
		return d.fail("remove", name, err)
	}
	return nil
}

// Sync makes the names in the directory durable.
func (d *Dir) Sync() error {
	f, err := d.List()
	if err != nil {
		return err
	}
	defer f.Close()
	return d.syncs.of(f)
}

// List opens the directory for reading its entries.
func (d *Dir) List() (*os.File, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(d.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, d.fail("open", ".", err)
	}
	// os uses this name to stat entries if the file system does not return their types
	return os.NewFile(uintptr(fd), "/proc/self/fd/"+strconv.Itoa(fd)), nil
}

// fail converts a system error: a forbidden link is ELOOP.
func (d *Dir) fail(op, name string, err error) error {
	switch err {
	case unix.ELOOP:
		return ErrLink
	case unix.ENOTDIR:
		return ErrNotDir
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}

func statOf(st *unix.Stat_t) Stat {
	return Stat{
		Dev: st.Dev, Ino: st.Ino, Size: st.Size, Mode: modeOf(st.Mode),
		Mtime: time.Unix(st.Mtim.Unix()).UnixNano(), Ctime: time.Unix(st.Ctim.Unix()).UnixNano(),
		Links: uint64(st.Nlink), UID: st.Uid, GID: st.Gid, Blocks: st.Blocks * 512,
		HasOwner: true,
	}
}

func modeOf(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	switch m & unix.S_IFMT {
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	}
	if m&unix.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if m&unix.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if m&unix.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}
