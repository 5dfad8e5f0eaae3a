package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/stet-dev/stet/store/rows"
)

// source is a file that is read for a copy, in one transaction.
type source struct {
	db *sql.DB
	tx *sql.Tx
}

// OpenSource opens the file at path as the source of a copy. The file is only read.
func OpenSource(ctx context.Context, path string) (rows.Source, error) {
	s, err := openToRead(ctx, path)
	if err != nil {
		return nil, err
	}
	application, number, err := identity(ctx, s.tx)
	if err == nil {
		err = ours(application, number)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), s.Close())
	}
	return s, nil
}

func openToRead(ctx context.Context, path string) (*source, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	q := url.Values{"mode": {"ro"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", busyMillis)}}
	name := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	s := &source{db: db}
	if s.tx, err = db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}); err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), db.Close())
	}
	return s, nil
}

// Count implements rows.Source.
func (s *source) Count(ctx context.Context, t rows.Table) (n int64, err error) {
	err = s.tx.QueryRowContext(ctx, t.CountRows()).Scan(&n)
	return n, err
}

// Page implements rows.Source.
func (s *source) Page(ctx context.Context, t rows.Table, after []any, skip int64, limit int) ([][]any, error) {
	found, err := s.tx.QueryContext(ctx, t.SelectPage(after, skip, limit), after...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	width := t.Ordered() + len(t.Names())
	var out [][]any
	for found.Next() {
		row := make([]any, width)
		to := make([]any, width)
		for i := range row {
			to[i] = &row[i]
		}
		if err := found.Scan(to...); err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, found.Err()
}

// Close implements rows.Source.
func (s *source) Close() error { return errors.Join(s.tx.Rollback(), s.db.Close()) }

// target is a file that a copy is written to. It has another name until the copy is complete.
type target struct {
	*Store
	half, path string
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
	half := strings.TrimSuffix(path, ext) + ".copying" + ext
	s, err := Open(ctx, half)
	if err != nil {
		return nil, err
	}
	return &target{s, half, path}, nil
}

// Count implements rows.Target.
func (t *target) Count(ctx context.Context, of rows.Table) (n int64, err error) {
	err = t.db.QueryRowContext(ctx, of.CountRows()).Scan(&n)
	return n, err
}

// Clear implements rows.Target.
func (t *target) Clear(ctx context.Context, of rows.Table) error {
	_, err := t.db.ExecContext(ctx, "DELETE FROM "+of.Name)
	return err
}

// Write implements rows.Target.
func (t *target) Write(ctx context.Context, to rows.Table, list [][]any) error {
	tx, err := t.synced.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // fails after a commit, which is not an error
	if err := insert(ctx, tx, to.Insert(), list, func(row []any) []any { return row }); err != nil {
		return err
	}
	return tx.Commit()
}

// Read implements rows.Target.
func (t *target) Read(ctx context.Context) (rows.Source, error) { return OpenSource(ctx, t.half) }

// Finish implements rows.Target.
func (t *target) Finish(context.Context) error {
	if err := t.Close(); err != nil {
		return err
	}
	if err := os.Rename(t.half, t.path); err != nil {
		return err
	}
	for _, rest := range []string{t.half + "-lock", AnchorFile(t.half)} {
		if err := os.Remove(rest); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
