package rows

import (
	"context"
	"fmt"
	"time"
)

// Row is a row of a result. The rows of [database/sql] and of pgx implement it.
type Row interface{ Scan(dest ...any) error }

// Conn is an open database, or a transaction in it. A statement has a question mark for each of its arguments.
type Conn interface {
	// Each calls fn with each row of a result. An error of fn ends it.
	Each(ctx context.Context, statement string, args []any, fn func(Row) error) error
	// Exec executes a statement and returns the number of rows that it changed.
	Exec(ctx context.Context, statement string, args ...any) (int64, error)
	// Send executes several statements. A database on another machine gets all of them in one message.
	Send(ctx context.Context, all ...Statement) error
}

// Statement is a statement that is executed once for each of Args.
type Statement struct {
	Text string
	Args [][]any
}

// Database is an open database, with what SQLite and PostgreSQL do in different ways. Its methods may be called concurrently.
type Database interface {
	Conn
	// Transact calls do in a transaction, which is rolled back if do returns an error. durable says that the commit must survive a
	// power failure.
	Transact(ctx context.Context, durable bool, do func(Conn) error) error
	// Snapshot calls do with a connection that always sees the same state of the database. do only reads.
	Snapshot(ctx context.Context, do func(Conn) error) error
	// Again calls try, and calls it again for some time while the database cannot be reached. first is true in the first call only.
	// In a later call, the commit of an earlier one may have succeeded.
	Again(ctx context.Context, try func(ctx context.Context, first bool) error) error
	// Repeat is like Again, but a call of try may take as long as ctx allows. It is for reads with large results.
	Repeat(ctx context.Context, try func(ctx context.Context, first bool) error) error

	// Explain adds to err the operation that failed, and what a person can do.
	Explain(op string, err error) error
	// Name returns the path or the URL without its password, for messages.
	Name() string
	Closed() bool

	Dialect() Dialect
}

// Dialect is what the two databases spell in different ways.
type Dialect struct {
	// Among returns the condition that a column has one of some values, with a question mark for the one argument list.
	Among func(column string, values []uint64) (condition string, list any)
	// ForUpdate ends a SELECT whose rows no other process may change before the end of the transaction. It is empty if a
	// transaction that writes has the whole database for itself.
	ForUpdate string
	// Appending and Pruning are statements that make an append wait for pruning to end, and the other way round; or empty.
	Appending, Pruning string
	// Late is how long after a higher number a row with a lower one may become visible. 0: rows are numbered in the order of commits.
	Late time.Duration
}

// Collect returns all rows of a result. scan reads one of them.
func Collect[T any](ctx context.Context, on Conn, scan func(Row) (T, error), statement string, args ...any) (out []T, err error) {
	err = on.Each(ctx, statement, args, func(r Row) error {
		row, err := scan(r)
		out = append(out, row)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// fetch is Collect outside of a transaction. It tries again while the database cannot be reached.
func fetch[T any](ctx context.Context, db Database, scan func(Row) (T, error), statement string, args ...any) (out []T, err error) {
	err = db.Repeat(ctx, func(ctx context.Context, _ bool) (err error) {
		out, err = Collect(ctx, db, scan, statement, args...)
		return err
	})
	return out, err
}

// One reads the one row of a result to dest. It reports whether there is a row.
func One(ctx context.Context, on Conn, statement string, args []any, dest ...any) (found bool, err error) {
	err = on.Each(ctx, statement, args, func(r Row) error {
		found = true
		return r.Scan(dest...)
	})
	return found, err
}

// put returns the statement that writes a list of rows.
func put[T any](m Mapping[T], statement string, list []T) Statement {
	s := Statement{Text: statement}
	for _, row := range list {
		s.Args = append(s.Args, m.Values(row))
	}
	return s
}

// call returns a statement with its arguments.
func call(statement string, args ...any) Statement { return Statement{statement, [][]any{args}} }

// explain returns the error of a closed store, or what the database says about err. what is what the store keeps.
func explain(db Database, op, what string, closed, err error) error {
	if err != nil && db.Closed() {
		return fmt.Errorf("%s %s %s: %w", op, what, db.Name(), closed)
	}
	return db.Explain(op, err)
}
