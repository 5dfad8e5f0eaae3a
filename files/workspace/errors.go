package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/stet-dev/stet/internal/atomicfile"
	"github.com/stet-dev/stet/internal/invisible"
)

// Errors about a file. An error that a model can act on is an *Error with one of these. Any other error is a failure of the system.
var (
	ErrNotFound    = errors.New("no such file or directory")
	ErrPermission  = errors.New("permission denied")
	ErrPath        = errors.New("invalid path")
	ErrEncoding    = errors.New("not valid in this encoding")
	ErrTooLarge    = errors.New("too large")
	ErrChanged     = errors.New("changed since read")
	ErrIsDirectory = errors.New("is a directory")
	ErrBinary      = errors.New("binary file")
	ErrSpecial     = errors.New("not a regular file")
	ErrProtected   = errors.New("protected")
	ErrRange       = errors.New("no such line")
	ErrFull        = errors.New("no space left")         // Error.Detail says on which file system
	ErrRootGone    = errors.New("the workspace is gone") // Error.Detail has the reason and what to do
)

// Error is a failed operation on a file.
type Error struct {
	Op      string  // "read", "write", …
	Path    string  // as the caller gave it, or relative to the root
	Err     error   // one of the package's errors, or an error of the system without its paths
	Detail  string  // more about the error; may be empty
	Outside bool    // for ErrPath: it leads out of the workspace
	Asks    Caution // for ErrProtected: the cautions that a person must agree to first
	Now     Version // for ErrChanged: the version of the existing file; "": there is none
	Lines   int     // for ErrRange: number of lines in the file
	ByCR    bool    // for ErrRange: that one line has carriage returns, which end no line here
}

// Error returns the error on one line. Characters in the path that are not plain text are escaped. Why a path is invalid needs no
// other words.
func (e *Error) Error() string {
	s := e.Op + " " + Quote(e.Path) + ": "
	switch {
	case e.Detail == "":
		return s + e.Err.Error()
	case e.Err == ErrPath:
		return s + e.Detail
	}
	return s + e.Err.Error() + ": " + e.Detail
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Quote returns a name in a form that can be displayed: unchanged, or in quotes with escapes if a character is not
// printable.
func Quote(name string) string {
	if name == "" {
		return `""`
	}
	q := invisible.Quote(name)
	if q == `"`+name+`"` {
		return name
	}
	return q
}

func fail(op, path string, err error, detail string) error {
	return &Error{Op: op, Path: path, Err: err, Detail: detail}
}

// wrap makes an *Error of any other error.
func wrap(op, path string, err error) error {
	if err == nil {
		return nil
	}
	var own *Error
	if errors.As(err, &own) {
		if own.Op == "" {
			own.Op, own.Path = op, path
		}
		return err
	}
	detail, sentinel := cause(err)
	return &Error{Op: op, Path: path, Err: sentinel, Detail: detail}
}

// because returns an error without operation and path. wrap adds them.
func because(err error, detail string) error { return &Error{Err: err, Detail: detail} }

// fault is a failure of stet's own state directory. A model cannot act on it.
type fault struct {
	what string
	dir  string // the state directory
	err  error
}

func (f *fault) Error() string {
	return f.what + ": " + plain(f.err).Error()
}

// Reason returns the text for a model. It has no path.
func (f *fault) Reason() string { return f.Error() }

// plain returns an error of the system without its paths.
func plain(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	return err
}

// isFull reports whether a write failed because a file system, or the user's quota on it, is full.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || diskFull(err)
}

func cause(err error) (detail string, sentinel error) {
	var f *fault
	switch {
	case errors.As(err, &f) && isFull(f.err):
		return "the file system of stet's state directory " + Quote(f.dir) + " is full; make space there", ErrFull
	case isFull(err):
		return "the file system of the workspace is full; make space there", ErrFull
	case errors.As(err, &f):
		return "", f
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "", err
	case errors.Is(err, fs.ErrClosed):
		return "", fs.ErrClosed
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, atomicfile.ErrNotDir), errors.Is(err, syscall.ENOTDIR):
		return "", ErrNotFound
	case errors.Is(err, syscall.EROFS):
		return "the file system is read-only", ErrPermission
	case errors.Is(err, fs.ErrPermission):
		return "", ErrPermission
	case errors.Is(err, syscall.ENAMETOOLONG):
		return "a name is too long for the file system", ErrPath
	case errors.Is(err, syscall.EILSEQ), errors.Is(err, syscall.EINVAL):
		return "the file system does not take this name", ErrPath
	case errors.Is(err, atomicfile.ErrLink), errors.Is(err, syscall.ELOOP):
		return "links keep changing or lead in a circle", ErrPath
	case errors.Is(err, syscall.EISDIR):
		return "", ErrIsDirectory
	case errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.ENODEV):
		return "", ErrSpecial
	}
	return "", plain(err)
}
