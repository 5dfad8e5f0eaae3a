package sqlite

import (
	"context"
	"database/sql"
	"errors"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/rows"
)

// Sessions is a session.Store in the same file as the records. Its methods may be called concurrently.
type Sessions struct {
	*rows.Sessions
	close func() error
}

var _ session.Store = (*Sessions)(nil)

// OpenSessions opens the file at path, as Open does. A damaged file is opened too if its list of sessions can be read. Then
// Append is an error, the readable events can be read and exported, and the missing ones are reported.
func OpenSessions(ctx context.Context, path string) (*Sessions, error) {
	s, broken := Open(ctx, path)
	if broken == nil {
		return &Sessions{rows.NewSessions(s.file, rows.SessionHooks{Salvage: s.file.salvage}), s.Close}, nil
	}
	if !damaged(broken) {
		return nil, broken
	}
	f, err := openToRead(path, "writable_schema(1)") // so SQLite opens the file although pages are missing
	if err != nil {
		return nil, broken // this error says what a person can do
	}
	var sessions int
	if err := f.db.QueryRowContext(ctx, "SELECT count(*) FROM sessions").Scan(&sessions); err != nil {
		return nil, errors.Join(broken, f.Close())
	}
	return &Sessions{rows.NewSessions(f, rows.SessionHooks{Salvage: f.salvage, Broken: broken}), f.Close}, nil
}

// Close implements session.Store. It waits until running writes have ended.
func (s *Sessions) Close() error {
	defer s.Wait()()
	return s.close()
}

// salvage is the hook of rows.SessionHooks. It reads the rows one by one, and leaves out those that cannot be read.
func (f *file) salvage(ctx context.Context, err error, fn func(rows.Event) error) error {
	if !damaged(err) {
		return err
	}
	var end int64
	if err := f.db.QueryRowContext(ctx, "SELECT sum(last) FROM sessions").Scan(&end); err != nil { // places have no gaps
		return err
	}
	for place := int64(1); place <= end; place++ {
		e, err := rows.Events.Read(f.db.QueryRowContext(ctx, "SELECT "+rows.Events.Columns+" FROM events WHERE place = ?", place))
		if err == nil {
			err = fn(e)
		} else if damaged(err) || errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// damaged reports whether err says that the file or a row of it is damaged.
func damaged(err error) bool {
	var e *driver.Error
	return errors.As(err, &e) && (e.Code()&0xff == lib.SQLITE_CORRUPT || e.Code()&0xff == lib.SQLITE_NOTADB)
}
