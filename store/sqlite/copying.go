package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/rows"
)

// OpenSource opens the file at path as the source of a copy. The file is only read.
func OpenSource(ctx context.Context, path string) (rows.Source, error) {
	f, err := openToRead(path)
	if err != nil {
		return nil, err
	}
	if err := f.ours(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), f.Close())
	}
	return f, nil
}

// Inspect reads the file at path and changes nothing. The result has the requests that q selects.
func Inspect(ctx context.Context, path string, q record.Query) (out rows.Inspection, err error) {
	f, err := openToRead(path)
	if err != nil {
		return out, (&file{path: path}).Explain("look at", err)
	}
	number, err := f.number(ctx)
	if err == nil {
		out, err = rows.Inspect(ctx, f, number, q)
	}
	return out, f.Explain("look at", errors.Join(err, f.closeAll()))
}

// openToRead opens the file at path for reading only.
func openToRead(path string, pragmas ...string) (*file, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return open(path, "ro", pragmas...)
}

// Close closes a file that was opened for reading only.
func (f *file) Close() error {
	if f.closed.Swap(true) {
		return nil
	}
	return f.closeAll()
}

// target is a file that a copy is written to. It has another name until the copy is complete.
type target struct {
	*file
	store *Store
	path  string
}

// OpenTarget opens a new file at path to copy into, or continues an incomplete copy. It returns an error if path exists.
func OpenTarget(ctx context.Context, path string) (rows.Target, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	for _, file := range []string{path, AnchorFile(path)} {
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			return nil, errors.Join(fmt.Errorf("%s is there already: name a file that is not", file), err)
		}
	}
	ext := filepath.Ext(path)
	s, err := Open(ctx, strings.TrimSuffix(path, ext)+".copying"+ext)
	if err != nil {
		return nil, err
	}
	return &target{s.file, s, path}, nil
}

// Close implements rows.Target.
func (t *target) Close() error { return t.store.Close() }

// Finish implements rows.Target.
func (t *target) Finish(context.Context) error {
	if err := t.Close(); err != nil {
		return err
	}
	half := t.file.path
	if err := os.Rename(half, t.path); err != nil {
		return err
	}
	for _, rest := range []string{half + "-lock", AnchorFile(half)} {
		if err := os.Remove(rest); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
