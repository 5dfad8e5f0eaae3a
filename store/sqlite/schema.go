package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/pressly/goose/v3"
	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/stet-dev/stet/record"
)

//go:embed migrations/*.sql
var migrations embed.FS

// applicationID marks the file as a database of stet.
const applicationID = 0x73746574

var (
	errForeign = errors.New("the file is another program's database")
	errNewer   = errors.New("the file was made by a newer stet")
)

// lock waits until no other process, and no other call of Open in this process, is opening the file at path. It returns an error
// when ctx ends.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	l := flock.New(path+"-lock", flock.SetPermissions(0o600))
	if _, err := l.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("another process holds %s: %w", l.Path(), err)
		}
		return nil, err
	}
	return func() { _ = l.Unlock() }, nil // closing the file releases the lock even if this fails
}

// upgrade brings the schema up to date. The caller holds the lock.
func (s *Store) upgrade(ctx context.Context) error {
	var id, objects int
	err := s.db.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM sqlite_schema), application_id FROM pragma_application_id").
		Scan(&objects, &id)
	if err != nil {
		return err
	}
	if objects > 0 && id != applicationID {
		return errForeign
	}
	// The application id is the first thing that is written to a new file. So an incomplete new file is recognized as stet's.
	claim := ""
	if objects == 0 {
		claim = fmt.Sprintf("PRAGMA application_id = %d; ", applicationID)
	}
	if _, err := s.db.ExecContext(ctx, claim+"PRAGMA journal_mode = WAL"); err != nil {
		return err
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, s.db, files, goose.WithDisableGlobalRegistry(true),
		goose.WithAllowOutofOrder(true)) // numbers are assigned on branches, and may be executed out of order
	if err != nil {
		return err
	}
	has, want, err := p.GetVersions(ctx)
	if err != nil {
		return err
	}
	if has > want {
		return fmt.Errorf("%w (schema %d, this one knows %d)", errNewer, has, want)
	}
	pending, err := p.HasPending(ctx)
	if err != nil || !pending {
		return err
	}
	if has > 0 {
		loses, err := drops(ctx, p)
		if err != nil {
			return err
		}
		// With the copy a person can go back to an older version of stet. If there is no space for a copy, only a migration that
		// removes data is refused.
		if err := s.copyTo(ctx, CopyFile(s.path, has)); err != nil && loses {
			return fmt.Errorf("copy the file before its schema changes: %w", err)
		}
	}
	if _, err = p.Up(ctx); err == nil {
		s.removeCopies()
	}
	return err
}

// explain adds to err the operation that failed and, for errors of the file itself, what a person can do.
func (s *Store) explain(op string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s records %s: %w", op, s.path, err)
	var e *driver.Error
	switch {
	case errors.Is(err, errForeign):
		return fmt.Errorf("%w: name another path; nothing was changed", err)
	case errors.Is(err, errNewer):
		return fmt.Errorf("%w: use that version, or name another path; nothing was changed", err)
	case errors.Is(err, sql.ErrConnDone) || s.closed.Load() && op != "close":
		return fmt.Errorf("%w: %w", record.ErrClosed, err)
	case errors.Is(err, record.ErrLost):
		return &trouble{err, "the audit trail has lost entries, and nothing is done before a person has looked (stet audit --verify)"}
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return s.full(err)
	case !errors.As(err, &e):
		return err
	case e.Code()&0xff == lib.SQLITE_FULL, e.Code() == lib.SQLITE_IOERR_SHMSIZE:
		return s.full(err)
	}
	return &trouble{advise(err, e.Code()&0xff), e.Error()}
}

// full returns the error for a full disk or a used-up quota.
func (s *Store) full(err error) error {
	return &trouble{
		fmt.Errorf("%w: %w: the file system of %s is full; make room there", err, record.ErrFull, filepath.Dir(s.path)),
		"the file system of stet's state directory is full; make room there",
	}
}

// trouble is an error of the database with a text for people.
type trouble struct {
	error
	what string // the text, without the path
}

func (t *trouble) Unwrap() error { return t.error }

// Reason is the text for readers who must not learn the path.
func (t *trouble) Reason() string { return "stet's record: " + t.what }

// advise adds to err what a person can do about an SQLite error with this code.
func advise(err error, code int) error {
	switch code {
	case lib.SQLITE_NOTADB, lib.SQLITE_CORRUPT:
		return fmt.Errorf("%w: the file is damaged or no database; move it away (a new one is made; then run \"stet audit accept\") "+
			"or try `sqlite3 FILE .recover`; nothing was overwritten", err)
	case lib.SQLITE_ERROR:
		return fmt.Errorf("%w: the file is not as stet made it; move it away (a new one is made; then run \"stet audit accept\"); nothing was overwritten", err)
	case lib.SQLITE_BUSY:
		return fmt.Errorf("%w: another process held the file for over %d s", err, busyMillis/1000)
	case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM:
		return fmt.Errorf("%w: check that the file and its directory can be written", err)
	}
	return err
}
