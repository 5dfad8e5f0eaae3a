package snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/stet-dev/stet/internal/atomicfile"
)

// Store keeps contents in a directory of stet's state, each once and compressed:
//
//	ab/cdef…     a content, by its SHA-256, as a zstd frame
//	doors/…/open which directories of workspaces are open for a look: see closeDoors
//
// Files have mode 0600, directories 0700. A content is checked against its name when it is read. The methods may be called concurrently.
type Store struct {
	dir  string
	enc  *zstd.Encoder
	mu   sync.Mutex
	used int64 // bytes on disk; -1: they were not counted yet
}

// ErrGone says that a content is not in the store: it was never kept, or was removed because of the limit.
var ErrGone = errors.New("the content is not kept any more")

// OpenStore opens the store in a directory, and makes it. It closes directories that a killed process left open: see closeDoors.
func OpenStore(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2))
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, enc: enc, used: -1}
	s.closeDoors()
	return s, nil
}

// Hold keeps other holders of the same store, also in other processes, from going on until release is called, or ctx ends. Who restores holds the store
// until the restoration is recorded, and who looks at the changes of a call until it knows what was restored.
func (s *Store) Hold(ctx context.Context) (release func()) {
	at, err := atomicfile.OpenDir(s.dir)
	if err != nil {
		return func() {}
	}
	for {
		unlock, err := at.TryLock()
		if err == nil {
			return func() { unlock(); _ = at.Close() }
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			err = ctx.Err()
		}
		if !errors.Is(err, atomicfile.ErrLocked) { // there are no locks here
			return func() { _ = at.Close() }
		}
	}
}

// Put keeps a content and returns its name.
func (s *Store) Put(data []byte) (sum string, err error) {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:]), s.put(h, data)
}

func (s *Store) put(h [32]byte, data []byte) error {
	name, now := s.name(h), time.Now()
	if info, err := os.Lstat(name); err == nil && info.Size() > 0 && os.Chtimes(name, now, now) == nil {
		return nil // it is there; the newest use decides what is removed first. (After a crash of the system a file may be empty.)
	}
	packed := s.enc.EncodeAll(data, nil)
	err := atomicfile.Write(name, packed, 0o600, false)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(name), 0o700); err == nil {
			err = atomicfile.Write(name, packed, 0o600, false)
		}
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used >= 0 {
		s.used += int64(len(packed))
	}
	return nil
}

// Get returns a content of at most limit bytes. ErrGone says that it is not there.
func (s *Store) Get(sum string, limit int64) ([]byte, error) {
	h, ok := parseSum(sum)
	if !ok {
		return nil, fmt.Errorf("%q is no name of a content", sum)
	}
	f, err := os.Open(s.name(h))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrGone
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dec, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	var b bytes.Buffer
	n, err := b.ReadFrom(io.LimitReader(dec, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("kept content %.12s: %w", sum, err)
	case n > limit:
		return nil, fmt.Errorf("kept content %.12s has more than %d bytes", sum, limit)
	case sha256.Sum256(b.Bytes()) != h:
		return nil, fmt.Errorf("kept content %.12s is damaged", sum)
	}
	return b.Bytes(), nil
}

// Has reports whether a content is there.
func (s *Store) Has(sum string) bool {
	h, ok := parseSum(sum)
	if !ok {
		return false
	}
	_, err := os.Lstat(s.name(h))
	return err == nil
}

// Used returns the bytes on disk.
func (s *Store) Used() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used < 0 {
		s.used = 0
		for _, o := range s.objects() {
			s.used += o.size
		}
	}
	return s.used
}

// Prune removes contents that were used before the time, and the oldest ones until the store has at most limit bytes. It keeps what live
// names: the contents that a Tree needs to undo the next call. If these alone come near the limit, only the time counts.
func (s *Store) Prune(before time.Time, limit int64, live map[[32]byte]bool) (removed int, err error) {
	all := s.objects()
	slices.SortFunc(all, func(a, b object) int { return a.used.Compare(b.used) })
	needed := int64(0)
	for _, o := range all {
		if live[o.sum] {
			needed += o.size
		}
	}
	if needed > limit/10*9 {
		limit = math.MaxInt64
	}
	for _, o := range all {
		if !o.used.Before(before) && s.Used() <= limit {
			break
		}
		if live[o.sum] {
			continue
		}
		if info, err := os.Lstat(s.name(o.sum)); err != nil || info.ModTime().After(o.used) {
			continue // it was used in the meantime
		}
		if rerr := os.Remove(s.name(o.sum)); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
			continue
		}
		removed++
		s.mu.Lock()
		if s.used >= 0 {
			s.used -= o.size
		}
		s.mu.Unlock()
	}
	return removed, err
}

type object struct {
	sum  [32]byte
	size int64
	used time.Time
}

// objects lists what is in the store. It removes files that a killed process left unfinished.
func (s *Store) objects() []object {
	var all []object
	dirs, _ := os.ReadDir(s.dir)
	for _, d := range dirs {
		files, _ := os.ReadDir(filepath.Join(s.dir, d.Name()))
		for _, f := range files {
			info, err := f.Info()
			if err != nil {
				continue
			}
			o := object{size: info.Size(), used: info.ModTime()}
			var ok bool
			if o.sum, ok = parseSum(d.Name() + f.Name()); ok {
				all = append(all, o)
			} else if time.Since(o.used) > time.Hour {
				_ = os.Remove(filepath.Join(s.dir, d.Name(), f.Name()))
			}
		}
	}
	return all
}

func (s *Store) name(h [32]byte) string {
	sum := hex.EncodeToString(h[:])
	return filepath.Join(s.dir, sum[:2], sum[2:])
}

// parseSum reads the name of a content. A name of another length is none.
func parseSum(s string) (h [32]byte, ok bool) {
	if len(s) != hex.EncodedLen(len(h)) {
		return h, false
	}
	_, err := hex.Decode(h[:], []byte(s))
	return h, err == nil
}

func sumOf(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}
