// Package atomicfile replaces a file in an open directory atomically.
//
// A Dir is a directory held by a descriptor. Its methods take single path components, or, if the comment says so, paths below it.
// They never follow a symbolic link: the caller decides, step by step, where a link may lead. A Temp is a new file next to the file
// that it replaces.
//
// On Linux, paths are opened by openat2 if the kernel has it, and files are exchanged by renameat2, so that the replaced file can
// be checked and restored. Other systems use an os.Root. There, a change by another program is overwritten without notice if it
// happens in the microseconds between the check of the old file and the rename.
//
// Errors are the errors below, or wrap errors of the system: fs.ErrNotExist, fs.ErrExist, fs.ErrPermission and so on. They may
// contain paths, so they must be reworded before they are shown.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// syncs makes a file or a directory durable. nil: by os.File.Sync.
type syncs func(*os.File) error

func (s syncs) of(f *os.File) error {
	if s == nil {
		return f.Sync()
	}
	return s(f)
}

// OnSync sets what makes files in d, d itself and the directories that are opened from it durable, for tests. It must be called before
// d is used.
func (d *Dir) OnSync(sync func(*os.File) error) { d.syncs = sync }

// ErrLink says that a component of a path is a symbolic link.
var ErrLink = errors.New("is a symbolic link")

// ErrNotDir says that the name is not a directory.
var ErrNotDir = errors.New("not a directory")

// ErrLocked says that another holder has the lock.
var ErrLocked = errors.New("locked by another process")

// Stat describes a file.
type Stat struct {
	Dev, Ino uint64 // the file's identity; both 0 if the system has none
	Size     int64  // bytes
	Mode     fs.FileMode
	Mtime    int64 // nanoseconds since 1970
	Ctime    int64 // time of the last change to content or attributes; 0: unknown
	Links    uint64
	UID, GID uint32
	Blocks   int64 // bytes of the file on disk; -1: unknown
	HasOwner bool  // UID and GID are known
}

// Same reports whether both describe one file, as far as the system says.
func (s Stat) Same(o Stat) bool {
	if s.Ino == 0 && o.Ino == 0 {
		return s.Size == o.Size && s.Mtime == o.Mtime && s.Mode == o.Mode
	}
	return s.Dev == o.Dev && s.Ino == o.Ino
}

// Write makes a file with a text and a mode, or replaces one, whole or not at all. Unlike the methods of a Dir it follows links above the name. With
// durable, the file is on disk when it returns.
func Write(name string, text []byte, mode fs.FileMode, durable bool) error {
	t, err := os.CreateTemp(filepath.Dir(name), ".stet-new-*")
	if err != nil {
		return err
	}
	_, err = t.Write(text)
	err = errors.Join(err, t.Chmod(mode))
	if durable {
		err = errors.Join(err, t.Sync())
	}
	if err = errors.Join(err, t.Close()); err == nil {
		err = os.Rename(t.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(t.Name()))
	}
	return nil
}
