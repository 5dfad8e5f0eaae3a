// Package kept keeps texts that were left out of requests, so that "stet show" can print them. Each text is a separate file
// that only its owner may read. The name of the file is the text's id. A database is not used because an agent's sandbox may
// allow "stet show" to read, but not to write.
package kept

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"
)

// maxBytes is the limit for all texts. The oldest are removed first.
const maxBytes = 256 << 20

// pruneEvery is the number of written bytes between two checks of the limit.
const pruneEvery = 16 << 20

// touchEvery is the age after which a text in use gets a new time stamp.
const touchEvery = time.Hour

// ErrGone says that a text was not kept or was removed.
var ErrGone = errors.New("the text is not kept, or no more")

// ID matches an id.
var ID = regexp.MustCompile(`^[0-9a-f]{16}$`)

// IDOf returns the id of a text: 16 hexadecimal digits of its hash.
func IDOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// Dir is a directory with texts. Its methods may be called concurrently, also by several processes.
type Dir struct {
	path   string
	keep   time.Duration // how long texts are kept; 0: without limit
	budget int64

	mu      sync.Mutex
	written int64 // bytes since the last check; the initial value forces a check
}

// New returns the directory of that path, which need not exist. Texts are kept for the time keep; 0: without limit.
func New(path string, keep time.Duration) *Dir {
	return &Dir{path: path, keep: keep, budget: maxBytes, written: pruneEvery}
}

// Keep stores a text under its id, which is IDOf(text). It is called again while the text is in use: so a text that was
// removed or damaged is written again, and a text in use is not the oldest.
func (d *Dir) Keep(id, text string) error {
	if !ID.MatchString(id) {
		return fmt.Errorf("keep a text: %q is not an id", id)
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
			return fmt.Errorf("keep a text: %w", err)
		}
		d.written += int64(len(text))
	}
	if d.written < pruneEvery {
		return nil
	}
	d.written = 0
	if err := d.prune(now); err != nil {
		return fmt.Errorf("remove old texts: %w", err)
	}
	return nil
}

// write writes a text atomically.
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

// Text returns the text with an id, or ErrGone.
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
	case IDOf(string(b)) != id: // damaged
		return "", ErrGone
	}
	return string(b), nil
}

// prune removes texts that are too old, and the oldest ones above the limit.
func (d *Dir) prune(now time.Time) error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return err
	}
	var texts []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() { // otherwise it is gone already
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
