package snapshot

import (
	"bytes"
	"path/filepath"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// watcher says in which directories something changed, by inotify. The kernel queues an event before the call that caused it
// returns, so that after a command the queue has all of its events: it is read when it is needed, without a goroutine.
//
// (The usual library gives the events of a directory that was renamed the old name, and so does not fit here.)
//
// A nil *watcher watches nothing. The caller holds Tree.mu.
type watcher struct {
	fd   int
	dirs map[int32]*dir
	buf  [64 << 10]byte
	dead bool      // an event was lost, or a directory cannot be watched
	read time.Time // when the whole tree was read last
}

// Limits of watches. A tree of more directories is read at each call. What a watch does not see (a write through a name outside of the tree,
// or through mapped memory) is found when the whole tree is read.
const (
	maxWatches = 100_000
	rereadTree = 5 * time.Minute
)

// local are the file systems whose changes all go through this kernel.
var local = []int64{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC}

func newWatcher(top string) *watcher {
	var st unix.Statfs_t
	if err := unix.Statfs(top, &st); err != nil || !slices.Contains(local, int64(st.Type)) {
		return nil
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	return &watcher{fd: fd, dirs: map[int32]*dir{}, read: time.Now()}
}

func (w *watcher) close() {
	if w != nil {
		_ = unix.Close(w.fd)
	}
}

const watched = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_ATTRIB |
	unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW | unix.IN_EXCL_UNLINK

// add watches a directory. It must be called before the directory is read.
func (w *watcher) add(top string, d *dir) {
	if w == nil || w.dead {
		return
	}
	wd, err := unix.InotifyAddWatch(w.fd, filepath.Join(top, d.path), watched)
	if err != nil || len(w.dirs) >= maxWatches {
		w.dead = true
		return
	}
	w.dirs[int32(wd)] = d
}

// sync marks the directories in which something changed as stale. It reports whether the whole tree has to be read.
func (w *watcher) sync() (all bool) {
	if w == nil {
		return true
	}
	for !w.dead {
		n, err := unix.Read(w.fd, w.buf[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n < unix.SizeofInotifyEvent {
			w.dead = w.dead || err != unix.EAGAIN
			break
		}
		all = w.mark(w.buf[:n]) || all
	}
	all = all || w.dead || time.Since(w.read) > rereadTree
	if all {
		w.read = time.Now()
	}
	return all
}

// mark marks the directories of some events. It reports whether the kernel has dropped others.
func (w *watcher) mark(events []byte) (lost bool) {
	for len(events) >= unix.SizeofInotifyEvent {
		e := (*unix.InotifyEvent)(unsafe.Pointer(&events[0]))
		name := events[unix.SizeofInotifyEvent : unix.SizeofInotifyEvent+e.Len]
		events = events[unix.SizeofInotifyEvent+e.Len:]
		if e.Mask&unix.IN_Q_OVERFLOW != 0 {
			lost = true
		}
		d := w.dirs[e.Wd]
		if e.Mask&unix.IN_IGNORED != 0 && d != nil { // it was removed; a new one may have its name, and its inode
			delete(w.dirs, e.Wd)
			d.watched = false
		}
		if d != nil && (e.Mask&unix.IN_ISDIR == 0 || !bytes.HasPrefix(name, []byte(".git\x00"))) {
			own := e.Mask&unix.IN_ATTRIB != 0 && e.Len == 0 // of the directory itself, as when it is opened for a look
			d.stale, d.alone = true, own && (d.alone || !d.stale)
		}
	}
	return lost
}
