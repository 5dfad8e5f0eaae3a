// Package foldstore keeps the texts of outputs that were folded, so that "stet show" can
// print the lines that were left out. A text is a file of its own, which its owner alone may
// read; its name is the text's id. A database would not do: an agent's sandbox may let "stet
// show" read, and not write.
package foldstore

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/stet-dev/stet/history"
)

// maxBytes is how many bytes the texts may take. The oldest go first.
const maxBytes = 256 << 20

// pruneEvery is after how many bytes that are written the budget is looked at.
const pruneEvery = 16 << 20

// touchEvery is how old a text gets before it counts as new again, where it is still in use.
const touchEvery = time.Hour

// ErrGone is returned for a text that is not kept, or no more.
var ErrGone = errors.New("the text is not kept, or no more")

// ID is what an id looks like.
var ID = regexp.MustCompile(`^[0-9a-f]{16}$`)

// Dir is a directory with texts. Its methods may be called concurrently, also by several
// processes.
type Dir struct {
	path   string
	keep   time.Duration // how long; 0 is for ever
	budget int64

	mu      sync.Mutex
	written int64 // since the budget was looked at; at first as if it were time
}

// New returns the directory of that path, which need not be there. Texts are kept for a
// time; 0 is for ever.
func New(path string, keep time.Duration) *Dir {
	return &Dir{path: path, keep: keep, budget: maxBytes, written: pruneEvery}
}

// Keep keeps a text by its id, which is history.FoldID of it. It is called as long as the text is in use: a text that
// was removed or damaged meanwhile is written again, and one in use is not the oldest.
func (d *Dir) Keep(id, text string) error {
	if !ID.MatchString(id) {
		return fmt.Errorf("keep a folded text: %q is no id", id)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	info, err := os.Stat(d.file(id))
	there := err == nil && info.Size() == int64(len(text))
	if there && now.Sub(info.ModTime()) > touchEvery {
		there = os.Chtimes(d.file(id), now, now) == nil
	}
	if !there {
		if err := d.write(id, text); err != nil {
			return fmt.Errorf("keep a folded text: %w", err)
		}
		d.written += int64(len(text))
	}
	if d.written < pruneEvery {
		return nil
	}
	d.written = 0
	if err := d.prune(now); err != nil {
		return fmt.Errorf("remove old folded texts: %w", err)
	}
	return nil
}

// write writes a text. Whoever reads it sees all of it or nothing.
func (d *Dir) write(id, text string) error {
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(d.path, "new-*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), d.file(id))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

func (d *Dir) file(id string) string { return filepath.Join(d.path, id) }

// Text returns the text with an id. The error is ErrGone where there is none.
func (d *Dir) Text(id string) (string, error) {
	if !ID.MatchString(id) {
		return "", ErrGone
	}
	b, err := os.ReadFile(d.file(id))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", ErrGone
	case err != nil:
		return "", err
	case history.FoldID(string(b)) != id: // damaged
		return "", ErrGone
	}
	return string(b), nil
}

// prune removes what is older than texts are kept, and the oldest beyond the budget.
func (d *Dir) prune(now time.Time) error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return err
	}
	var texts []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() { // else it is gone already
			texts = append(texts, info)
		}
	}
	slices.SortFunc(texts, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	var total int64
	var errs []error
	for _, info := range texts {
		old := d.keep > 0 && now.Sub(info.ModTime()) > d.keep
		if total += info.Size(); !old && total <= d.budget {
			continue
		}
		if err := os.Remove(d.file(info.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
