package snapshot

import (
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

// doors are directories of this user that their owner may not read, or not write to. A command may have made them so. To look into such a directory or to
// put something back there, it is opened for the owner alone, and closed again. The Store has a note of what is open. With it, closeDoors closes directories that a killed process left open.
type doors struct {
	dir   string // that they are below
	store *Store
	mu    sync.Mutex
	modes map[string]fs.FileMode // by path: before they were opened
	note  doorNote
}

// doorNote is a directory of the Store in which the file openDoors lists what is open. Who has the doors open holds the directory's lock, which ends with
// the process. The zero value is none.
type doorNote struct {
	dir    string
	file   *os.File
	list   *gob.Encoder
	err    error // of the first write that failed: nothing more is written
	unlock func()
}

// door is an entry of the list. The last one of a path counts.
type door struct {
	Dir  string // of doors
	Path string
	Mode fs.FileMode // before it was opened
	Left bool        // it stays as it is
}

const (
	doorNotes = "doors" // in the directory of a Store
	openDoors = "open"
)

// add adds to the list of a note. It makes the note if there is none.
func (n *doorNote) add(s *Store, d door) error {
	if n.err == nil && n.list == nil {
		n.err = n.begin(filepath.Join(s.dir, doorNotes))
	}
	if n.err == nil {
		n.err = n.list.Encode(d)
	}
	return n.err
}

func (n *doorNote) begin(all string) (err error) {
	if err = os.MkdirAll(all, 0o700); err != nil {
		return err
	}
	if n.dir, err = os.MkdirTemp(all, ""); err != nil {
		return err
	}
	if n.unlock, err = lockNote(n.dir); err != nil {
		return err
	}
	if n.file, err = os.OpenFile(filepath.Join(n.dir, openDoors), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		n.list = gob.NewEncoder(n.file)
	}
	return err
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

// closeDoors closes the directories that a killed process left open. It does not touch the directories of a process that runs. If the mode of a
// directory was changed after it was opened, it keeps the new mode. What cannot be closed now is tried again at the next start.
func (s *Store) closeDoors() {
	notes, _ := os.ReadDir(filepath.Join(s.dir, doorNotes)) // mostly there are none
	for _, e := range notes {
		n := doorNote{dir: filepath.Join(s.dir, doorNotes, e.Name())}
		var err error
		if n.unlock, err = lockNote(n.dir); err != nil {
			continue
		}
		o := doors{modes: map[string]fs.FileMode{}, note: n}
		if o.note.file, err = os.Open(filepath.Join(n.dir, openDoors)); err == nil {
			for list := gob.NewDecoder(o.note.file); ; {
				var d door
				if list.Decode(&d) != nil {
					break // the end, or an entry that was cut off: then it was not opened
				}
				if o.dir = d.Dir; d.Left {
					delete(o.modes, d.Path)
				} else {
					o.modes[d.Path] = d.Mode
				}
			}
		}
		o.shut()
	}
}

// end releases a note. If its doors could not be closed, it stays.
func (n *doorNote) end(err error) {
	if n.file != nil {
		_ = n.file.Close() // it is read only after a kill
	}
	if n.dir != "" && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		_ = os.RemoveAll(n.dir) // if it stays, the next start closes its directories again, if they then have the mode of open ones
	}
	if n.unlock != nil {
		n.unlock()
	}
	*n = doorNote{}
}

// bits are the parts of a mode that can be set.
const bits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// open opens the directory at a path if its owner lacks the permissions need, and those above it that he may not look into. It reports whether there was one.
func (o *doors) open(p string, need fs.FileMode) (closed bool) {
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
		mode, name, wants := info.Mode(), filepath.ToSlash(at), fs.FileMode(0o500)
		if name == p {
			wants = need
		}
		if !mode.IsDir() || mode&wants == wants {
			continue
		}
		if o.modes == nil {
			o.modes = map[string]fs.FileMode{}
		}
		o.modes[name] = mode
		if o.note.add(o.store, door{Dir: o.dir, Path: name, Mode: mode}) != nil || root.Chmod(at, mode&bits|0o700) != nil {
			delete(o.modes, name) // without a note it might stay open
			break
		}
		closed = true
	}
	return closed
}

// shut closes the directories again, and returns their modes before they were opened. If the mode of a directory was changed after it was opened, it
// keeps the new mode.
func (o *doors) shut() (were map[string]fs.FileMode) {
	o.mu.Lock()
	defer o.mu.Unlock()
	were, o.modes = o.modes, nil
	o.note.end(closeAgain(o.dir, were))
	return were
}

func closeAgain(dir string, were map[string]fs.FileMode) error {
	if len(were) == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	var errs []error
	for _, p := range slices.Backward(slices.Sorted(maps.Keys(were))) {
		if info, err := root.Lstat(p); err == nil && info.Mode() == were[p]|0o700 {
			errs = append(errs, root.Chmod(p, were[p]&bits))
		}
	}
	return errors.Join(errs...)
}

// leave has a directory stay as it is.
func (o *doors) leave(p string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, open := o.modes[p]; open {
		delete(o.modes, p)
		_ = o.note.add(o.store, door{Dir: o.dir, Path: p, Left: true}) // without it the next start closes it, if it still looks open
	}
}
