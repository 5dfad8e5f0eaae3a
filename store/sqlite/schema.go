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

// applicationID marks the file as stet's.
const applicationID = 0x73746574

var (
	errForeign = errors.New("the file is another program's database")
	errNewer   = errors.New("the file was made by a newer stet")
)

// lock waits until no other process, and no other Open of this one, is
// opening the file at path, but not longer than until ctx ends.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	l := flock.New(path+"-lock", flock.SetPermissions(0o600))
	if _, err := l.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("another process holds %s: %w", l.Path(), err)
		}
		return nil, err
	}
	return func() { _ = l.Unlock() }, nil // the lock goes with the descriptor in any case
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
	// A new file is ours before anything is in it, so that one whose making was cut short is.
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
		goose.WithAllowOutofOrder(true)) // numbers are given on branches, and need not come in order
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
		// A copy is the way back to an older version. Where there is no room for one, only a change that loses something has to wait.
		if err := s.copyTo(ctx, CopyFile(s.path, has)); err != nil && loses {
			return fmt.Errorf("copy the file before its schema changes: %w", err)
		}
	}
	if _, err = p.Up(ctx); err == nil {
		s.removeCopies()
	}
	return err
}

// explain says what op was doing and, where the file itself is at fault, what
// to do about it.
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

// full is the error of a disk, or of a user's quota on it, that is full.
func (s *Store) full(err error) error {
	return &trouble{
		fmt.Errorf("%w: %w: the file system of %s is full; make room there", err, record.ErrFull, filepath.Dir(s.path)),
		"the file system of stet's state directory is full; make room there",
	}
}

// trouble is an error of the database.
type trouble struct {
	error
	what string // it says, without the path
}

func (t *trouble) Unwrap() error { return t.error }

// Reason is for those who must not hear the path.
func (t *trouble) Reason() string { return "stet's record: " + t.what }

// advise says what can be done about an error with this code of SQLite's.
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
