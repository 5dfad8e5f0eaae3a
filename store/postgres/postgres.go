// Package postgres keeps stet's records in a PostgreSQL database. Several machines may use the database at the same time.
//
// # In the database
//
// Package rows defines the tables, with the same columns as in the SQLite file. The table stet_schema has rows.SchemaNumber. A text that
// is not UTF-8 or that contains NUL cannot be stored in a text column of PostgreSQL. It is stored as U+0001 and the hexadecimal digits
// of its bytes.
//
// The database is encoded in UTF-8. The tables are created in the first schema of the role's search_path.
//
// # Commits
//
// One goroutine of the process writes all waiting appends together, in one commit. Processes wait for each other at the rows that
// they change.
//
// If this process has written all the sessions of a commit before, it sends one statement. That statement writes nothing if
// another process has added events to one of the sessions. In that case the process locks the sessions, reads them, and writes
// then.
//
// A commit returns when PostgreSQL reports it as durable. So the setting synchronous_commit decides what survives the loss of a
// server. While PostgreSQL restarts or a replica takes over, appends wait and are tried again, for the time Patience. A
// second attempt first looks up whether the interrupted commit was made.
//
// # PgBouncer
//
// Nothing depends on the connection between transactions: stet uses no LISTEN, no session-level lock and no named prepared
// statement. So the database may be behind PgBouncer, also in its mode "transaction pooling". Without PgBouncer,
// default_query_exec_mode=cache_statement in the URL saves PostgreSQL some work.
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
	"github.com/stet-dev/stet/store/rows"
)

// Patience is how long an append is tried again while the database cannot be reached.
const Patience = 30 * time.Second

const (
	attemptTime = 10 * time.Second // limit for one attempt to write
	idleTime    = 4 * time.Second  // limit for a transaction whose process sends nothing
)

// connectTimeout limits one attempt to connect, if the URL gives no other limit.
const connectTimeout = 5 * time.Second

// IsURL reports whether where names a PostgreSQL database.
func IsURL(where string) bool {
	return strings.HasPrefix(where, "postgres://") || strings.HasPrefix(where, "postgresql://")
}

// Name returns the URL without its passwords, for messages.
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

// database is an open database. It implements rows.Database.
type database struct {
	conn
	pool   *pgxpool.Pool
	name   string // for messages
	closed atomic.Bool
}

// connect opens the database at a URL, and makes the tables of an empty one. A database with an incomplete copy is refused, unless
// toCopy is set.
func connect(ctx context.Context, where string, toCopy bool) (*database, error) {
	d, err := dial(ctx, where)
	if err != nil {
		return nil, err
	}
	if err := d.prepare(ctx, toCopy); err != nil {
		d.pool.Close()
		return nil, d.Explain("open", err)
	}
	return d, nil
}

// dial opens the database at a URL and changes nothing in it.
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
		return nil, d.Explain("open", err)
	}
	d.on = d.pool
	return d, nil
}

// reason says why a URL cannot be used. The text never contains a part of the URL that may be the password.
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

// Close waits until the database is not in use. It may be called more than once.
func (d *database) Close() error {
	if !d.closed.Swap(true) {
		d.pool.Close()
	}
	return nil
}

// Explain implements rows.Database.
func (d *database) Explain(op string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s records %s: %w", op, d.name, err)
	var pg *pgconn.PgError
	switch {
	case errors.Is(err, record.ErrLost):
		return rows.LostTrouble(err)
	case errors.As(err, &pg) && pg.Code == "53100":
		return &rows.Trouble{Err: fmt.Errorf("%w: %w", err, record.ErrFull), What: "the disk of the database is full; make space there"}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &pg) && strings.HasPrefix(pg.Code, "28"):
		return &rows.Trouble{Err: fmt.Errorf("%w: check the role and its password", err), What: "the database refuses stet's role"}
	case errors.As(err, &pg):
		return &rows.Trouble{Err: err, What: pg.Message}
	}
	return &rows.Trouble{Err: err, What: "the database cannot be reached"}
}

// Name implements rows.Database.
func (d *database) Name() string { return d.name }

// Closed implements rows.Database.
func (d *database) Closed() bool { return d.closed.Load() }

// Dialect implements rows.Database. The locks are advisory: "prun" in ASCII.
func (d *database) Dialect() rows.Dialect {
	return rows.Dialect{
		Among: func(column string, values []uint64) (string, any) {
			numbers := make([]int64, len(values))
			for i, v := range values {
				numbers[i] = int64(v)
			}
			return column + " = ANY(?)", numbers
		},
		ForUpdate: " FOR UPDATE",
		Appending: fmt.Sprintf("SELECT pg_advisory_xact_lock_shared(%d)", 0x7072756e),
		Pruning:   fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", 0x7072756e),
		Late:      time.Minute, // longer than any append takes
	}
}

// passing reports whether the next attempt may succeed after err: the connection was lost, PostgreSQL is starting or stopping, or
// two transactions were in conflict.
func passing(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, new(unreadable)) {
		return false
	}
	if !errors.As(err, &pg) {
		return err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, record.ErrLost)
	}
	switch pg.Code {
	case "57P01", "57P02", "57P03", // shutting down, crashed, or not started yet
		"25P03",          // the process sent nothing for too long in a transaction
		"25006",          // the server is a replica, which may be promoted
		"40001", "40P01", // conflict of two transactions
		"23505", // another transaction took the number
		"53300": // too many connections
		return true
	}
	return strings.HasPrefix(pg.Code, "08")
}

// Again implements rows.Database. It calls try until it succeeds, until it fails with an error that is not passing, or until Patience
// is over. An attempt ends after attemptTime: its connection may be lost without a notice.
func (d *database) Again(ctx context.Context, try func(ctx context.Context, first bool) error) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	return d.Repeat(ctx, func(ctx context.Context, first bool) error {
		ctx, cancel := context.WithTimeout(ctx, attemptTime)
		defer cancel()
		return try(ctx, first)
	})
}

// Repeat implements rows.Database.
func (d *database) Repeat(ctx context.Context, try func(ctx context.Context, first bool) error) error {
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

// Transact implements rows.Database. PostgreSQL ends the transaction if the process sends nothing for idleTime, because it is paused
// or disconnected. Otherwise other processes would wait for its locks until the operating system closes the connection, which takes
// hours. The setting synchronous_commit decides what is durable.
func (d *database) Transact(ctx context.Context, _ bool, do func(rows.Conn) error) error {
	return pgx.BeginTxFunc(ctx, d.pool, pgx.TxOptions{BeginQuery: beginQuery}, func(tx pgx.Tx) error { return do(conn{tx}) })
}

var beginQuery = fmt.Sprintf("BEGIN; SET LOCAL idle_in_transaction_session_timeout = %d", idleTime.Milliseconds())

// Snapshot implements rows.Database.
func (d *database) Snapshot(ctx context.Context, do func(rows.Conn) error) error {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return pgx.BeginTxFunc(ctx, d.pool, options, func(tx pgx.Tx) error { return do(conn{tx}) })
}
