package workspace

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"
)

// WriteMode says what a write may do beyond replacing an ordinary file. The
// zero value does the least.
type WriteMode struct {
	CreateDirs bool    // make missing directories
	Backup     bool    // leave a copy of what is overwritten among the backups (FILE-17)
	Agreed     Caution // the reasons to ask that a person has agreed to
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

// Written is what a write has done.
type Written struct {
	Path      Path    // canonical: the file that was written, links resolved
	Was, Now  Version // "" where there was, or is, no file
	Bytes     int64
	Created   bool
	Dirs      int      // directories that were made for it: the last so many of Path's
	Unchanged bool     // the file held these bytes already and was left alone
	Backup    string   // absolute path of the backup, if one was made
	Lost      []string // what of the old file could not be kept, in words
	Info      Info     // of the file as it is now
}

// content is what is to be written or kept.
type content struct {
	r       io.ReadSeeker
	size    int64
	version Version
}

// Write replaces a file's content by data, whole or not at all, if the file's version
// is was; "" makes a new file, where there must be none. Another version there is
// ErrChanged, and Error.Now says which. When Write returns, the content is durable.
//
// Mode, owner and attributes stay, or Lost says what did not. Bytes are written as
// they are: line ends and encoding are up to the caller. What is overwritten is kept
// as a version, and so is data. Write may be called concurrently, by several
// processes too: for one file one call succeeds, the others get ErrChanged.
// (FILE-14, FILE-15)
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

// errMoved says that a path leads to another place, or another file, than it did when
// the write began.
var errMoved = errors.New("the path leads elsewhere now")

// retrying does a write or a removal, and tries again what fails for the moment.
// (FILE-15)
func retrying(ctx context.Context, p Path, once func() (Written, error)) (Written, error) {
	if p.name == "." || p.name == "" || p.dir {
		return Written{}, because(ErrPath, "it names a directory")
	}
	pause := 2 * time.Millisecond
	for try := 0; ; try++ {
		w, err := once()
		if err == nil || try == 6 || !passing(err) {
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

// errOther says that a content does not have the version that it was said to have.
var errOther = errors.New("another version")

// copyHashed copies c to w. It is errOther where the bytes are not of c's version.
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
