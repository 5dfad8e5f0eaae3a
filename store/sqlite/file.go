package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/stet-dev/stet/store/rows"
)

// file is an open file. It implements rows.Database. Reads use any number of connections. Writes of one process wait for each other
// here, and for those of other processes in SQLite.
type file struct {
	conn   // the connections for reading
	path   string
	db     *sql.DB
	normal writer // commits survive the end of the process
	synced writer // commits survive a power failure too
	closed atomic.Bool
}

// busyMillis is how long a writer waits for another process, in milliseconds.
const busyMillis = 10_000

// source returns the name of the file at path for the driver. It never creates the file. pragmas are set for each connection.
func source(path, mode string, pragmas ...string) string {
	q := url.Values{"mode": {mode}, "_txlock": {"immediate"}, "_pragma": append(pragmas, fmt.Sprintf("busy_timeout(%d)", busyMillis))}
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: q.Encode()}
	return u.String()
}

// open prepares connections to the file at path. They are made when they are used for the first time. mode is "rw", or "ro" for a
// file that is only read, with pragmas for each connection.
func open(path, mode string, pragmas ...string) (*file, error) {
	f := &file{path: path, normal: newWriter(), synced: newWriter()}
	for _, c := range []struct {
		to    **sql.DB
		level string
	}{{&f.db, "NORMAL"}, {&f.normal.db, "NORMAL"}, {&f.synced.db, "FULL"}} {
		if mode == "rw" {
			pragmas = []string{"synchronous(" + c.level + ")"}
		}
		db, err := sql.Open("sqlite", source(path, mode, pragmas...))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open records %s: %w", path, err), f.closeAll())
		}
		*c.to = db
	}
	f.on = f.db
	return f, nil
}

// closeAll closes all connections. It waits until running writes have ended.
func (f *file) closeAll() error {
	errs := []error{f.normal.close(), f.synced.close()}
	if f.db != nil {
		errs = append(errs, f.db.Close())
	}
	return errors.Join(errs...)
}

// Name implements rows.Database.
func (f *file) Name() string { return f.path }

// Closed implements rows.Database.
func (f *file) Closed() bool { return f.closed.Load() }

// Transact implements rows.Database.
func (f *file) Transact(ctx context.Context, durable bool, do func(rows.Conn) error) error {
	if durable {
		return f.synced.transact(ctx, do)
	}
	return f.normal.transact(ctx, do)
}

// Snapshot implements rows.Database.
func (f *file) Snapshot(ctx context.Context, do func(rows.Conn) error) error {
	tx, err := f.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	return errors.Join(do(conn{on: tx}), tx.Rollback())
}

// Again implements rows.Database. SQLite itself waits for other processes.
func (f *file) Again(ctx context.Context, try func(ctx context.Context, first bool) error) error {
	return try(ctx, true)
}

// Repeat implements rows.Database.
func (f *file) Repeat(ctx context.Context, try func(ctx context.Context, first bool) error) error {
	return try(ctx, true)
}

// Dialect implements rows.Database.
func (f *file) Dialect() rows.Dialect {
	return rows.Dialect{Among: func(column string, values []uint64) (string, any) {
		numbers := make([]int64, len(values))
		for i, v := range values {
			numbers[i] = int64(v)
		}
		list, _ := json.Marshal(numbers) // numbers always have a JSON form
		return column + " IN (SELECT value FROM json_each(?))", string(list)
	}}
}

// writer is the one connection on which this process writes with some durability. Its statements are prepared once.
type writer struct {
	db   *sql.DB
	lock *semaphore.Weighted
	conn *sql.Conn
	kept map[string]*sql.Stmt
}

func newWriter() writer { return writer{lock: semaphore.NewWeighted(1)} }

func (w *writer) transact(ctx context.Context, do func(rows.Conn) error) (err error) {
	if err := w.lock.Acquire(ctx, 1); err != nil {
		return err
	}
	defer w.lock.Release(1)
	if w.conn == nil {
		if w.conn, err = w.db.Conn(ctx); err != nil {
			return err
		}
		w.kept = map[string]*sql.Stmt{}
	}
	defer func() {
		if err != nil {
			_ = w.drop() // the state of the connection is unknown: the next write opens a new one
		}
	}()
	tx, err := w.conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // fails after a commit, which is not an error
	if err := do(conn{w.conn, w.kept}); err != nil {
		return err
	}
	return tx.Commit()
}

// drop closes the connection and its statements.
func (w *writer) drop() error {
	if w.conn == nil {
		return nil
	}
	var errs []error
	for _, st := range w.kept {
		errs = append(errs, st.Close())
	}
	err := errors.Join(append(errs, w.conn.Close())...)
	w.conn, w.kept = nil, nil
	return err
}

func (w *writer) close() error {
	if w.db == nil {
		return nil
	}
	_ = w.lock.Acquire(context.Background(), 1) // this context does not end
	defer w.lock.Release(1)
	return errors.Join(w.drop(), w.db.Close())
}

// conn implements rows.Conn.
type conn struct {
	on interface {
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
		PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	}
	kept map[string]*sql.Stmt // statements that were prepared; nil: none is kept
}

// maxKept is the maximum number of statements that are kept. Most texts are constants.
const maxKept = 100

// prepare returns a statement, and what to call after its use.
func (c conn) prepare(ctx context.Context, text string) (st *sql.Stmt, done func(), err error) {
	if st, ok := c.kept[text]; ok {
		return st, func() {}, nil
	}
	if st, err = c.on.PrepareContext(ctx, text); err != nil {
		return nil, nil, err
	}
	if c.kept != nil && len(c.kept) < maxKept {
		c.kept[text] = st
		return st, func() {}, nil
	}
	return st, func() { _ = st.Close() }, nil // nothing depends on it
}

// Each implements rows.Conn.
func (c conn) Each(ctx context.Context, statement string, args []any, fn func(rows.Row) error) error {
	var found *sql.Rows
	var err error
	if c.kept == nil {
		found, err = c.on.QueryContext(ctx, statement, args...)
	} else {
		var st *sql.Stmt
		var done func()
		if st, done, err = c.prepare(ctx, statement); err != nil {
			return err
		}
		defer done()
		found, err = st.QueryContext(ctx, args...)
	}
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		if err := fn(found); err != nil {
			return err
		}
	}
	return found.Err()
}

// Exec implements rows.Conn.
func (c conn) Exec(ctx context.Context, statement string, args ...any) (int64, error) {
	result, err := c.on.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Send implements rows.Conn.
func (c conn) Send(ctx context.Context, all ...rows.Statement) error {
	for _, s := range all {
		if len(s.Args) == 0 {
			continue
		}
		st, done, err := c.prepare(ctx, s.Text)
		if err != nil {
			return err
		}
		// A row is written in microseconds, so ctx counts between two of them. Otherwise the driver starts a goroutine for each.
		for _, args := range s.Args {
			if err = ctx.Err(); err == nil {
				_, err = st.ExecContext(context.WithoutCancel(ctx), args...)
			}
			if err != nil {
				break
			}
		}
		done()
		if err != nil {
			return err
		}
	}
	return nil
}
