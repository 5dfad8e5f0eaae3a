package sqlite

import (
	"context"
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
	"github.com/stet-dev/stet/store/rows"
)

// triggers is what a new file gets besides the tables of package rows.
//
//go:embed schema.sql
var triggers string

// applicationID marks the file as a database of stet.
const applicationID = 0x73746574

var errForeign = errors.New("the file is another program's database: name another path; nothing was changed")

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

// create makes the tables of a new file. The caller holds the lock.
func (f *file) create(ctx context.Context) error {
	var objects int
	if err := f.db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&objects); err != nil {
		return err
	}
	if objects > 0 {
		return f.ours(ctx)
	}
	if _, err := f.db.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil {
		return err
	}
	return f.Transact(ctx, false, func(tx rows.Conn) error {
		_, err := tx.Exec(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d; %s%s", applicationID, rows.SchemaNumber, rows.Schema, triggers))
		return err
	})
}

// ours returns an error for a file that this program cannot use.
func (f *file) ours(ctx context.Context) error {
	number, err := f.number(ctx)
	if err != nil {
		return err
	}
	return rows.CheckSchema(number)
}

// number returns the number of the file's schema.
func (f *file) number(ctx context.Context) (number int64, err error) {
	var application int64
	err = f.db.QueryRowContext(ctx, "SELECT application_id, user_version FROM pragma_application_id, pragma_user_version").Scan(&application, &number)
	if err == nil && application != applicationID {
		err = errForeign
	}
	return number, err
}

// Explain implements rows.Database.
func (f *file) Explain(op string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s records %s: %w", op, f.path, err)
	var e *driver.Error
	switch {
	case f.closed.Load() && op != "close":
		return fmt.Errorf("%w: %w", record.ErrClosed, err)
	case errors.Is(err, record.ErrLost):
		return rows.LostTrouble(err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return f.full(err)
	case !errors.As(err, &e):
		return err
	case e.Code()&0xff == lib.SQLITE_FULL, e.Code() == lib.SQLITE_IOERR_SHMSIZE:
		return f.full(err)
	}
	return &rows.Trouble{Err: advise(err, e.Code()&0xff), What: e.Error()}
}

// full returns the error for a full disk or a used-up quota.
func (f *file) full(err error) error {
	return &rows.Trouble{
		Err:  fmt.Errorf("%w: %w: the file system of %s is full; make space there", err, record.ErrFull, filepath.Dir(f.path)),
		What: "the file system of stet's state directory is full; make space there",
	}
}

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
