package atomicfile

import (
	"errors"
	"io/fs"
	"os"
)

// Temp is a file being made, beside the one that it is to replace. It is used
// by one goroutine.
type Temp struct {
	dir  *Dir
	name string
	file *os.File
	kept bool // the file is in its place, and the temporary name is gone
}

// NewTemp makes an empty file of that name, which must be free, with what the
// umask leaves of perm. It stays until Close or until it has found its place.
func NewTemp(d *Dir, name string, perm fs.FileMode) (*Temp, error) {
	f, err := d.create(name, perm)
	if err != nil {
		return nil, err
	}
	return &Temp{dir: d, name: name, file: f}, nil
}

// Write appends to the file.
func (t *Temp) Write(p []byte) (int, error) { return t.file.Write(p) }

// Sync makes the content durable, not yet the name.
func (t *Temp) Sync() error { return t.file.Sync() }

// Stat tells of the file as it is now.
func (t *Temp) Stat() (Stat, error) { return StatFile(t.file) }

// Accept judges a file that is being displaced; an error from it puts
// everything back. It must not close the file. The file has been put aside
// under the second name, from which it may be moved away; that is "" where the
// system cannot exchange files, and the old one is still in its place.
type Accept func(displaced *os.File, aside string) error

// Over puts the file in the place of name, which must be there. What accept
// says of the old file is returned. The directory is not synced.
func (t *Temp) Over(name string, accept Accept) error {
	err := t.exchange(name, accept)
	if errors.Is(err, errors.ErrUnsupported) {
		err = t.rename(name, accept)
	}
	return err
}

// rename is Over for systems that cannot exchange two files.
func (t *Temp) rename(name string, accept Accept) error {
	if err := t.dir.look(name, "", accept); err != nil {
		return err
	}
	if err := t.beforeRename(); err != nil {
		return err
	}
	if err := t.dir.rename(t.name, name); err != nil {
		return err
	}
	t.kept = true
	return nil
}

func (d *Dir) look(name, aside string, accept Accept) error {
	f, err := d.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return accept(f, aside)
}

// discard removes a name, which may be gone.
func (d *Dir) discard(name string) error {
	if err := d.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Place gives the file a name that must be free: fs.ErrExist says that it is
// not. The directory is not synced.
func (t *Temp) Place(name string) error {
	if err := t.beforeRename(); err != nil {
		return err
	}
	if err := t.dir.RenameNew(t.name, name); err != nil {
		return err
	}
	t.kept = true
	return nil
}

// Close closes the file, and removes it unless it has found its place. More
// calls do nothing.
func (t *Temp) Close() error {
	err := t.file.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	if !t.kept {
		t.kept = true
		err = errors.Join(err, t.dir.discard(t.name))
	}
	return err
}

// Remove takes the file of this name away, if accept lets it go. It is given
// the other name, which must be free, for the moment between; accept is as in
// Over. The directory is not synced.
func Remove(d *Dir, name, aside string, accept Accept) error {
	if err := d.RenameNew(name, aside); err != nil {
		return err
	}
	err := d.look(aside, aside, accept)
	if err == nil {
		return d.discard(aside)
	}
	if back := d.RenameNew(aside, name); errors.Is(back, fs.ErrExist) {
		// A new file has taken the name meanwhile: it is the newer one.
		return errors.Join(err, d.Remove(aside))
	} else if back != nil {
		return errors.Join(err, back)
	}
	return err
}
