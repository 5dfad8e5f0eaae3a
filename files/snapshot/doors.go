package snapshot

import (
	"bytes"
	"encoding/gob"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/stet-dev/stet/internal/atomicfile"
)

// doors are directories that forbid their owner, who is this user, to look into them: a command may have closed them. They are opened for a look, for
// the owner alone, and closed again. What is open is noted in the Store, so that closeDoors closes it after a kill.
type doors struct {
	dir   string // that they are below
	store *Store
	mu    sync.Mutex
	modes map[string]fs.FileMode // by path: before they were opened
	note  doorNote
}

// doorNote is a directory of the Store in which the file openDoors has a doorList. Who has the doors open holds the directory's lock, which ends with
// the process. The zero value is none.
type doorNote struct {
	dir    string
	unlock func()
}

// doorList says which directories are open.
type doorList struct {
	Dir   string
	Modes map[string]fs.FileMode
}

const (
	doorNotes = "doors" // in the directory of a Store
	openDoors = "open"
)

// write replaces the list of a note. It makes the note if there is none.
func (n *doorNote) write(s *Store, l doorList) error {
	if n.dir == "" {
		all := filepath.Join(s.dir, doorNotes)
		if err := os.MkdirAll(all, 0o700); err != nil {
			return err
		}
		dir, err := os.MkdirTemp(all, "")
		if err != nil {
			return err
		}
		if n.unlock, err = lockNote(dir); err != nil {
			return err
		}
		n.dir = dir
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(l); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(n.dir, openDoors), b.Bytes(), 0o600, false)
}

// lockNote locks the directory of a note, on systems with such locks.
func lockNote(dir string) (unlock func(), err error) {
	at, err := atomicfile.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	unlock, err = at.TryLock()
	if errors.Is(err, errors.ErrUnsupported) {
		return func() {}, nil
	}
	return unlock, err
}

// closeDoors closes the directories that a killed process had opened to look into them, unless somebody has changed them. What cannot be closed now is
// tried again the next time. A process that runs keeps its own.
func (s *Store) closeDoors() {
	notes, _ := os.ReadDir(filepath.Join(s.dir, doorNotes)) // mostly there are none
	for _, e := range notes {
		n := doorNote{dir: filepath.Join(s.dir, doorNotes, e.Name())}
		var err error
		if n.unlock, err = lockNote(n.dir); err != nil {
			continue
		}
		var l doorList
		data, err := os.ReadFile(filepath.Join(n.dir, openDoors))
		if err == nil && gob.NewDecoder(bytes.NewReader(data)).Decode(&l) == nil {
			err = l.shut()
		}
		n.end(err)
	}
}

// end releases a note. If its doors could not be closed, it stays.
func (n *doorNote) end(err error) {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		_ = os.RemoveAll(n.dir) // if it stays, its doors are closed once more, as long as nobody changes them
	}
	n.unlock()
	*n = doorNote{}
}

// shut closes the directories again, unless somebody has changed them.
func (l doorList) shut() error {
	root, err := os.OpenRoot(l.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	var errs []error
	for _, p := range slices.Backward(slices.Sorted(maps.Keys(l.Modes))) {
		if info, err := root.Lstat(p); err == nil && info.Mode() == l.Modes[p]|0o500 {
			errs = append(errs, root.Chmod(p, l.Modes[p]&bits))
		}
	}
	return errors.Join(errs...)
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
		mode, p := info.Mode(), filepath.ToSlash(at)
		if !mode.IsDir() || mode&0o500 == 0o500 || at == "." {
			continue
		}
		if o.modes == nil {
			o.modes = map[string]fs.FileMode{}
		}
		o.modes[p] = mode
		if o.note.write(o.store, doorList{o.dir, o.modes}) != nil || root.Chmod(at, mode&bits|0o500) != nil {
			delete(o.modes, p) // without a note it might stay open
			break
		}
		closed = true
	}
	return closed
}

// shut closes the directories again, unless somebody has changed them, and returns what was open.
func (o *doors) shut() (were map[string]fs.FileMode) {
	o.mu.Lock()
	defer o.mu.Unlock()
	were, o.modes = o.modes, nil
	if o.note.dir != "" {
		o.note.end(doorList{o.dir, were}.shut())
	}
	return were
}

// leave has a directory stay as it is.
func (o *doors) leave(p string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, open := o.modes[p]; open {
		delete(o.modes, p)
		_ = o.note.write(o.store, doorList{o.dir, o.modes}) // the old note closes it, if it still looks as it did
	}
}
