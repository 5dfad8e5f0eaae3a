package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Temp is a new file next to the file that it replaces. It must be used by one goroutine.
type Temp struct {
	dir  *Dir
	name string
	file *os.File
	kept bool // the file has its final name
}

// NewTemp makes an empty file of that name, which must be free, with the permissions perm, reduced by the umask. The name exists
// until Close, Over or Place.
func NewTemp(d *Dir, name string, perm fs.FileMode) (*Temp, error) {
	f, err := d.create(name, perm)
	if err != nil {
		return nil, err
	}
	return &Temp{dir: d, name: name, file: f}, nil
}

// Write appends to the file.
func (t *Temp) Write(p []byte) (int, error) { return t.file.Write(p) }

// Sync makes the content durable, but not the name.
func (t *Temp) Sync() error { return t.dir.syncs.of(t.file) }

// Stat describes the file as it is now.
func (t *Temp) Stat() (Stat, error) { return StatFile(t.file) }

// Accept decides about a file that is being replaced. If it returns an error, the old file is restored. It must not close the file.
// aside is the file's name meanwhile; Accept may move it away from there. If the system cannot exchange files, aside is "", and the
// file still has its old name.
type Accept func(displaced *os.File, aside string) error

// Over replaces the existing file name by this file. It returns the error of accept. It does not sync the directory.
func (t *Temp) Over(name string, accept Accept) error {
	err := t.exchange(name, accept)
	if errors.Is(err, errors.ErrUnsupported) {
		err = t.rename(name, accept)
	}
	return err
}

// rename is Over on systems that cannot exchange two files.
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

// discard removes a name if it exists.
func (d *Dir) discard(name string) error {
	if err := d.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Place gives the file a free name. If the name is not free, it returns fs.ErrExist. It does not sync the directory.
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

// Close closes the file, and removes it unless Over or Place has given it its final name. A second call does nothing.
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

// Remove removes the file of this name if accept returns nil. Meanwhile the file has the name aside, which must be free. If accept returns an error,
// and another program has made a newer file of the name meanwhile, the old file keeps the name aside, and the error says so. It does not sync the
// directory.
func Remove(d *Dir, name, aside string, accept Accept) error {
	if err := d.RenameNew(name, aside); err != nil {
		return err
	}
	err := d.look(aside, aside, accept)
	if err == nil {
		return d.discard(aside)
	}
	if back := d.RenameNew(aside, name); errors.Is(back, fs.ErrExist) {
		return fmt.Errorf("%w; there is a newer file of this name, and the old one is %s now", err, aside)
	} else if back != nil {
		return errors.Join(err, back)
	}
	return err
}
