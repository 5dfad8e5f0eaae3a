// Package atomicfile replaces a file in an open directory, whole or not at
// all.
//
// A Dir is a directory held by descriptor. The names that it takes are single
// components, or paths below it where that is said. It never follows a symbolic link:
// the caller decides, step by step, where a link may lead. A Temp is a file being made
// beside the one that it replaces.
//
// On Linux paths are opened by openat2 where the kernel has it, and files are
// exchanged by renameat2, so that a displaced file can be looked at and put back. On
// other systems everything goes through an os.Root. There, for some microseconds
// between the look at the old file and the rename, a change by another program is
// overwritten without notice.
//
// Errors are those below, or wrap those of the system: fs.ErrNotExist, fs.ErrExist,
// fs.ErrPermission and so on. They may hold paths, and have to be reworded before they
// are shown.
package atomicfile

import (
	"errors"
	"io/fs"
)

// ErrLink says that a component of a path is a symbolic link.
var ErrLink = errors.New("is a symbolic link")

// ErrNotDir says that what should be a directory is something else.
var ErrNotDir = errors.New("not a directory")

// ErrLocked says that the lock is held elsewhere.
var ErrLocked = errors.New("locked by another process")

// Stat is what the system says of a file.
type Stat struct {
	Dev, Ino uint64 // the file's identity; both 0 where the system tells none
	Size     int64  // bytes
	Mode     fs.FileMode
	Mtime    int64 // nanoseconds since 1970
	Ctime    int64 // of the last change to content or attributes; 0 where unknown
	Links    uint64
	UID, GID uint32
	Blocks   int64 // bytes that the file takes on disk; -1 where unknown
	HasOwner bool  // UID and GID are known
}

// Same reports whether both speak of one file, as far as the system tells.
func (s Stat) Same(o Stat) bool {
	if s.Ino == 0 && o.Ino == 0 {
		return s.Size == o.Size && s.Mtime == o.Mtime && s.Mode == o.Mode
	}
	return s.Dev == o.Dev && s.Ino == o.Ino
}
