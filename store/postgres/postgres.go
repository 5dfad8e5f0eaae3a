// Package postgres keeps stet's records in a PostgreSQL database, which several machines
// may have open at once.
//
// # In the database
//
// The tables are those of the migrations directory, one numbered SQL file for each change of the
// schema; stet_schema has the numbers of those that were made. They have the columns of the SQLite file, with
// the same units: see package sqlite. Two things differ. Yes and no are boolean. And a text that is not UTF-8,
// or has a NUL, which PostgreSQL cannot keep in a text column, is kept as U+0001 and its bytes in hexadecimal digits.
//
// The database is encoded in UTF-8. The tables are made in the first schema of the role's search_path.
//
// # Commits
//
// What waits to be appended is written together, in one commit, by one goroutine of the process; processes wait
// for each other at the rows that they change. Events of sessions that this process has written before are one statement, which
// writes nothing where another process has gone on with one of them: then the sessions are locked and read first. A commit returns when PostgreSQL says that it is durable: so
// synchronous_commit decides what survives the loss of a server. While PostgreSQL restarts or a replica takes its place, appends wait and are
// tried again, for Patience. Before that it is looked up whether the commit that was interrupted was made.
//
// # PgBouncer
//
// Nothing depends on the connection between transactions: there is no LISTEN, no lock of a session, no
// prepared statement with a name. So the database may be behind PgBouncer, also where it pools transactions. Without
// PgBouncer, default_query_exec_mode=cache_statement in the URL spares PostgreSQL some work.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/stet-dev/stet/record"
)

// Patience is how long an append tries again while the database cannot be reached.
const Patience = 30 * time.Second

const (
	attemptTime = 10 * time.Second // of a write
	idleTime    = 4 * time.Second  // that a transaction waits for its process
)

// connectTimeout bounds one attempt to connect, where the URL says nothing else.
const connectTimeout = 5 * time.Second

// IsURL reports whether where names a PostgreSQL database.
func IsURL(where string) bool {
	return strings.HasPrefix(where, "postgres://") || strings.HasPrefix(where, "postgresql://")
}

// Name is the URL without its password, for messages.
func Name(where string) string {
	u, err := url.Parse(where)
	if err != nil {
		return "postgres://…" // a URL that cannot be parsed may have a password anywhere
	}
	q := u.Query()
	for _, secret := range []string{"password", "sslpassword"} {
		q.Del(secret)
	}
	name := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawQuery: q.Encode()}
	if u.User != nil {
		name.User = url.User(u.User.Username())
	}
	return name.String()
}

// database is an open database.
type database struct {
	pool   *pgxpool.Pool
	name   string // for messages
	closed atomic.Bool
}

// connect opens the database at a URL and brings its schema up to date. One into which a copy is not complete is
// refused, except by who goes on with the copy.
func connect(ctx context.Context, where string, toCopy bool) (*database, error) {
	d, err := dial(ctx, where)
	if err != nil {
		return nil, err
	}
	if err := d.upgrade(ctx, toCopy); err != nil {
		d.pool.Close()
		return nil, d.explain("open", err)
	}
	return d, nil
}

// dial opens the database at a URL as it is.
func dial(ctx context.Context, where string) (*database, error) {
	d := &database{name: Name(where)}
	config, err := pgxpool.ParseConfig(where)
	if err != nil {
		return nil, fmt.Errorf("open records %s: the URL cannot be used: %s", d.name, reason(where, err))
	}
	if !strings.Contains(where, "default_query_exec_mode") {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "stet"
	}
	if d.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, d.explain("open", err)
	}
	return d, nil
}

// reason says what is wrong with a URL that cannot be used. It never has a part of it that may be the password.
func reason(where string, err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	const form = "want postgres://USER:PASSWORD@HOST:PORT/DATABASE, with special characters percent-encoded"
	u, parsed := url.Parse(where)
	if parsed != nil {
		return form
	}
	secret, _ := u.User.Password()
	if secret = cmp.Or(secret, u.Query().Get("password")); secret != "" && strings.Contains(err.Error(), secret) {
		return form
	}
	return err.Error()
}

// close waits for what uses the database. It may be called more than once.
func (d *database) close() {
	if !d.closed.Swap(true) {
		d.pool.Close()
	}
}

// explain says what op was doing, and what can be done.
func (d *database) explain(op string, err error) error {
	if err == nil {
		return nil
	}
	wrapped := fmt.Errorf("%s records %s: %w", op, d.name, err)
	var pg *pgconn.PgError
	switch {
	case errors.Is(err, record.ErrLost):
		return &trouble{wrapped, "the audit trail has lost entries, and nothing is done before a person has looked (stet audit --verify)"}
	case errors.As(err, &pg) && pg.Code == "53100":
		return &trouble{fmt.Errorf("%w: %w", wrapped, record.ErrFull), "the disk of the database is full; make room there"}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return wrapped
	case errors.As(err, &pg) && strings.HasPrefix(pg.Code, "28"):
		return &trouble{fmt.Errorf("%w: check the role and its password", wrapped), "the database refuses stet's role"}
	case errors.As(err, &pg):
		return &trouble{wrapped, pg.Message}
	}
	return &trouble{wrapped, "the database cannot be reached"}
}

// trouble is an error of the database.
type trouble struct {
	error
	what string // it says, without the URL
}

func (t *trouble) Unwrap() error { return t.error }

// Reason is for those who must not hear where the database is.
func (t *trouble) Reason() string { return "stet's record: " + t.what }

// passing reports whether err may be gone at the next attempt: the connection was lost, or
// PostgreSQL is being started or stopped, or two transactions were in each other's way.
func passing(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, new(unreadable)) || errors.Is(err, pgx.ErrNoRows) {
		return false
	}
	if !errors.As(err, &pg) {
		return err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, record.ErrLost)
	}
	switch pg.Code {
	case "57P01", "57P02", "57P03", // it is going down, crashed, or not up yet
		"25P03",          // the process was silent in a transaction
		"25006",          // it is a replica, which may be promoted
		"40001", "40P01", // in each other's way
		"23505", // a number was taken meanwhile
		"53300": // too many connections
		return true
	}
	return strings.HasPrefix(pg.Code, "08")
}

// again calls try until it succeeds, fails for good, or Patience has passed. first is false from the
// second attempt on. An attempt that takes longer than attemptTime has lost its connection and does not know it.
func (d *database) again(ctx context.Context, try func(ctx context.Context, first bool) error) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	return d.repeat(ctx, func(ctx context.Context, first bool) error {
		ctx, cancel := context.WithTimeout(ctx, attemptTime)
		defer cancel()
		return try(ctx, first)
	})
}

// repeat is again where an attempt may take as long as ctx allows: a large result takes its time.
func (d *database) repeat(ctx context.Context, try func(ctx context.Context, first bool) error) error {
	end := time.Now().Add(Patience)
	err := try(ctx, true)
	for pause := 5 * time.Millisecond; passing(err) && !d.closed.Load() && time.Now().Before(end); pause = min(2*pause, 500*time.Millisecond) {
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		err = try(ctx, false)
	}
	return err
}

// transact runs do in a transaction. PostgreSQL ends one whose process says nothing more, since it was paused or cut
// off: others would wait for its locks until the operating system gives the connection up, which takes hours.
func (d *database) transact(ctx context.Context, do func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, d.pool, pgx.TxOptions{BeginQuery: beginQuery}, do)
}

var beginQuery = fmt.Sprintf("BEGIN; SET LOCAL idle_in_transaction_session_timeout = %d", idleTime.Milliseconds())
