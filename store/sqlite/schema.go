package sqlite

import (
	"context"
	"database/sql"
	_ "embed" // the schema
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/stet-dev/stet/record"
)

// schema makes the tables in a new file.
//
//go:embed schema.sql
var schema string

// schemaNumber is the number of schema, in the file's user_version.
const schemaNumber = 1

// applicationID marks the file as a database of stet.
const applicationID = 0x73746574

var (
	errForeign = errors.New("the file is another program's database")
	errOther   = errors.New("the file was made by another version of stet")
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

// prepare makes the tables of a new file. The caller holds the lock.
func (s *Store) prepare(ctx context.Context) error {
	id, number, err := identity(ctx, s.db)
	if err != nil {
		return err
	}
	var objects int
	if err := s.db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&objects); err != nil {
		return err
	}
	if objects > 0 {
		return ours(id, number)
	}
	if _, err := s.db.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil {
		return err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // fails after a commit, which is not an error
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d; %s", applicationID, schemaNumber, schema)); err != nil {
		return err
	}
	return tx.Commit()
}

// identity returns the application and the schema number that a file names.
func identity(ctx context.Context, q queryer) (application, number int64, err error) {
	err = q.QueryRowContext(ctx, "SELECT application_id, user_version FROM pragma_application_id, pragma_user_version").Scan(&application, &number)
	return application, number, err
}

// ours returns an error for a file that this program cannot use.
func ours(application, number int64) error {
	if application != applicationID {
		return errForeign
	}
	if number != schemaNumber {
		return fmt.Errorf("%w (schema %d, this one knows %d)", errOther, number, schemaNumber)
	}
	return nil
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
	case errors.Is(err, errOther):
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
