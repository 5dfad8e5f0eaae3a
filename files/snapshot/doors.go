package snapshot

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// doors are directories that forbid their owner, who is this user, to look into them: a command may have closed them. They are opened for a look, for
// the owner alone, and closed again.
type doors struct {
	dir   string // that they are below
	mu    sync.Mutex
	modes map[string]fs.FileMode // by path: before they were opened
}

// bits are the parts of a mode that can be set.
const bits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// open opens the directories at a path and above it. It reports whether one was closed.
func (o *doors) open(p string) (closed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	root, err := os.OpenRoot(o.dir)
	if err != nil {
		return false
	}
	defer root.Close()
	at := ""
	for name := range strings.SplitSeq(p, "/") {
		at = filepath.Join(at, name)
		info, err := root.Lstat(at)
		if err != nil {
			break
		}
		if mode := info.Mode(); mode.IsDir() && mode&0o500 != 0o500 && at != "." && root.Chmod(at, mode&bits|0o500) == nil {
			if closed = true; o.modes == nil {
				o.modes = map[string]fs.FileMode{}
			}
			o.modes[filepath.ToSlash(at)] = mode
		}
	}
	return closed
}

// shut closes the directories again, unless somebody has changed them, and returns what was open.
func (o *doors) shut() (were map[string]fs.FileMode) {
	o.mu.Lock()
	defer o.mu.Unlock()
	were, o.modes = o.modes, nil
	if len(were) == 0 {
		return nil
	}
	root, err := os.OpenRoot(o.dir)
	if err != nil {
		return were
	}
	defer root.Close()
	for _, p := range slices.Backward(slices.Sorted(maps.Keys(were))) {
		if info, err := root.Lstat(p); err == nil && info.Mode() == were[p]|0o500 {
			_ = root.Chmod(p, were[p]&bits) // it stays open for its owner
		}
	}
	return were
}

// leave has a directory stay as it is.
func (o *doors) leave(p string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.modes, p)
}
