package atomicfile

import (
	"io/fs"
	"syscall"
)

// openFlags prevent an open from blocking, also for a pipe or a device.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOFOLLOW

func statOf(fi fs.FileInfo) Stat {
	s := Stat{Size: fi.Size(), Mode: fi.Mode(), Mtime: fi.ModTime().UnixNano(), Links: 1, Blocks: -1}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		s.Dev, s.Ino, s.Links = uint64(st.Dev), st.Ino, uint64(st.Nlink)
		s.Ctime = st.Ctimespec.Nano()
		s.UID, s.GID, s.HasOwner = st.Uid, st.Gid, true
		s.Blocks = st.Blocks * 512
	}
	return s
}
