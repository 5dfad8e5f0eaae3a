package workspace

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
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
