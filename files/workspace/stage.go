package workspace

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"os"
	"sync"
)

// Staged is a large write that comes in parts. The parts are collected outside of the tree. Commit writes all of them at once or nothing.
// Abort must be called at the end, also after Commit. A Staged may be used by several goroutines. Parts are added in the order of the
// calls.
type Staged struct {
	root *Root
	path Path

	mu    sync.Mutex
	file  *os.File
	sum   hash.Hash
	size  int64
	fault error // permanent: after a lost part the write cannot be committed
}

// Stage begins a write in parts. Commit decides whether the file may be written; see Inspect.
func (r *Root) Stage(p Path) (*Staged, error) {
	return do(r, "stage", p.name, func() (*Staged, error) {
		name, err := r.state.tempName(".")
		if err != nil {
			return nil, err
		}
		// The name begins with the owner, so that sweep finds the file.
		name = r.state.path("staged", name[len(tempPrefix):])
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, r.state.fault("stage the parts", err)
		}
		return &Staged{root: r, path: p, file: f, sum: sha256.New()}, nil
	})
}

// Write adds a part. ErrTooLarge means that the parts exceed the limit, so they cannot be committed.
func (s *Staged) Write(part []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault == nil && s.file == nil {
		s.fault = because(os.ErrClosed, "")
	}
	if limit := s.root.opt.PartsLimit; s.fault == nil && s.size+int64(len(part)) > limit {
		s.fault = because(ErrTooLarge, limitWords(s.size+int64(len(part)), limit))
	}
	if s.fault != nil {
		return 0, wrap("stage", s.path.name, s.fault)
	}
	n, err := s.file.Write(part)
	s.sum.Write(part[:n])
	s.size += int64(n)
	s.fault = s.root.state.fault("stage the parts", err)
	return n, wrap("stage", s.path.name, err)
}

// Size returns the bytes staged so far.
func (s *Staged) Size() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size
}

// Version returns the version of the parts so far.
func (s *Staged) Version() Version {
	s.mu.Lock()
	defer s.mu.Unlock()
	return versionOf(s.sum)
}

// Sum implements tool.Staged: it is the Version as a string.
func (s *Staged) Sum() string { return string(s.Version()) }

// Bytes returns the parts so far, for a diff. If a part failed, it returns that error.
func (s *Staged) Bytes() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault != nil {
		return nil, wrap("stage", s.path.name, s.fault)
	}
	if s.file == nil {
		return nil, wrap("stage", s.path.name, os.ErrClosed)
	}
	buf := make([]byte, s.size)
	_, err := io.ReadFull(io.NewSectionReader(s.file, 0, s.size), buf)
	return buf, wrap("stage", s.path.name, err)
}

// Commit writes the staged parts, as Write does.
func (s *Staged) Commit(ctx context.Context, was Version, o WriteMode) (Written, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault == nil && s.file == nil {
		s.fault = because(os.ErrClosed, "")
	}
	if s.fault != nil {
		return Written{}, wrap("write", s.path.name, s.fault)
	}
	src := content{r: io.NewSectionReader(s.file, 0, s.size), size: s.size, version: versionOf(s.sum)}
	return s.root.write(ctx, s.path, src, was, o)
}

// Abort removes the parts. A second call does nothing.
func (s *Staged) Abort() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file = nil
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
