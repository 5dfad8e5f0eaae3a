package workspace

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// WriteMode says what a write may do besides replacing an ordinary file. The zero value allows the least.
type WriteMode struct {
	CreateDirs bool    // make missing directories
	Backup     bool    // keep a copy of the overwritten content among the backups
	Agreed     Caution // the cautions that a person has agreed to
}

// allows says whether a file of this class may be written to.
func (m WriteMode) allows(c Class) error {
	switch {
	case c == Own:
		return because(ErrProtected, "it belongs to stet itself")
	case c == Repository:
		return because(ErrProtected, "files of the repository are not written to")
	case c == Control && m.Agreed&ControlFile == 0:
		return &Error{Err: ErrProtected, Detail: "it is a control file, and no person was asked", Asks: ControlFile}
	}
	return nil
}

// Written is the result of a write.
type Written struct {
	Path      Path    // canonical: the written file, with links resolved
	Was, Now  Version // "" if there was, or is, no file
	Bytes     int64
	Created   bool
	Dirs      int      // number of directories that were made for it: the last ones of Path
	Unchanged bool     // the file already had these bytes and was not written
	Backup    string   // absolute path of the backup, if one was made
	Lost      []string // what could not be kept of the old file, in words
	Info      Info     // of the file after the write
}

// content is a content to be written or kept.
type content struct {
	r       io.ReadSeeker
	size    int64
	version Version
}

// Write replaces a file's content by data, whole or not at all, if the file's version is was. If was is "", it makes a new file, and
// no file may exist there. If the file has another version, the error is ErrChanged, and Error.Now is that version. When Write
// returns, the content is durable.
//
// Mode, owner and attributes are kept; Lost lists those that could not be. Bytes are written unchanged: the caller decides on line
// ends and encoding. The overwritten content is kept as a version, and so is data. Write may be called concurrently, also by several
// processes: for one file one call succeeds, and the others get ErrChanged.
func (r *Root) Write(ctx context.Context, p Path, data []byte, was Version, mode WriteMode) (Written, error) {
	if int64(len(data)) > r.opt.WriteLimit {
		return Written{}, fail("write", p.name, ErrTooLarge, limitWords(int64(len(data)), r.opt.WriteLimit))
	}
	return r.write(ctx, p, contentOf(data, VersionOf(data)), was, mode)
}

func limitWords(n, limit int64) string {
	return fmt.Sprintf("%d bytes, the limit is %d", n, limit)
}

func (r *Root) write(ctx context.Context, p Path, c content, was Version, mode WriteMode) (Written, error) {
	return do(r, "write", p.name, func() (Written, error) {
		w, err := retrying(ctx, p, func() (Written, error) { return r.writeOnce(ctx, p, c, was, mode) })
		if err == nil {
			r.keepShown(c)
		}
		return w, err
	})
}

// errMoved means that a path leads to another directory or file than when the write began.
var errMoved = errors.New("the path leads elsewhere now")

// retrying does a write or a removal, and repeats it after a temporary failure.
func retrying(ctx context.Context, p Path, once func() (Written, error)) (Written, error) {
	if p.name == "." || p.name == "" || p.dir {
		return Written{}, because(ErrPath, "it names a directory")
	}
	pause := 2 * time.Millisecond
	for try := 0; ; try++ {
		w, err := once()
		if err == nil || try == 6 || !temporary(err) {
			if errors.Is(err, errMoved) {
				err = because(ErrPath, "links keep changing")
			}
			return w, err
		}
		if err := sleep(ctx, pause); err != nil {
			return Written{}, err
		}
		pause *= 2
	}
}

func (r *Root) writeOnce(ctx context.Context, p Path, c content, was Version, mode WriteMode) (Written, error) {
	fc, err := r.begin(ctx, p, was, mode)
	if err != nil {
		return Written{}, err
	}
	defer fc.end()
	now, err := fc.version()
	if err != nil {
		return Written{}, err
	}
	fc.out.Bytes, fc.out.Now = c.size, c.version
	if now == c.version {
		if err := fc.leaveAsIs(); err != nil {
			return Written{}, err
		}
		fc.done, fc.out.Was, fc.out.Unchanged = true, now, true
		fc.out.Info = infoOf(fc.pl.path, fc.info)
		return fc.out, nil
	}
	if err := fc.expect(now); err != nil {
		return Written{}, err
	}
	if err := fc.replace(c); err != nil {
		return Written{}, err
	}
	return fc.out, nil
}

// errOther means that a content does not have the version it should have.
var errOther = errors.New("another version")

// copyHashed copies c to w. It returns errOther if the bytes do not have c's version.
func copyHashed(ctx context.Context, w io.Writer, c content) error {
	h := sha256.New()
	if _, err := c.r.Seek(0, io.SeekStart); err != nil {
		return err
	}
	n, err := io.Copy(io.MultiWriter(w, h), contextReader{ctx, c.r})
	if err == nil && (n != c.size || versionOf(h) != c.version) {
		err = errOther
	}
	return err
}

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

// temporary reports whether the same call may succeed a moment later.
func temporary(err error) bool {
	if errors.Is(err, errMoved) {
		return true
	}
	for _, e := range []syscall.Errno{syscall.EAGAIN, syscall.EBUSY, syscall.EINTR, syscall.ETXTBSY} {
		if errors.Is(err, e) {
			return true
		}
	}
	return sharingViolation(err)
}
