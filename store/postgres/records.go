package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/rows"
)

// Store keeps the account of requests, the proxy's knowledge of conversations, and the audit trail. Its methods may be called
// concurrently.
type Store struct {
	*database
	logs  *group[logging]
	guard guard
}

var (
	_ record.Store = (*Store)(nil)
	_ record.Noter = (*Store)(nil)
)

// Open opens the database at a URL (postgres://…), and makes the tables of an empty one.
func Open(ctx context.Context, where string) (*Store, error) {
	d, err := connect(ctx, where, false)
	if err != nil {
		return nil, err
	}
	return &Store{database: d, logs: newGroup[logging]()}, nil
}

// Close implements record.Store. It waits until running writes have ended.
func (s *Store) Close() error {
	s.logs.right <- struct{}{}
	defer func() { <-s.logs.right }()
	s.close()
	return nil
}

// explain returns record.ErrClosed for errors of a closed store.
func (s *Store) explain(op string, err error) error {
	if err != nil && s.closed.Load() {
		return fmt.Errorf("%s records %s: %w", op, s.name, record.ErrClosed)
	}
	return s.database.explain(op, err)
}

// Changes returns a number. It is a different one if any process has written to the database since the last call, also to
// sessions. The call reads no table: the number is a hash of the visible transactions.
func (s *Store) Changes(ctx context.Context) (n int64, err error) {
	err = s.pool.QueryRow(ctx, "SELECT hashtextextended(pg_current_snapshot()::text, 0)").Scan(&n)
	return n, s.explain("look at", err)
}

var (
	putRequest = numbered(rows.Requests.Insert()) + " ON CONFLICT (id) DO NOTHING"
	putTrim    = numbered(rows.Trims.Insert()) + " ON CONFLICT (request, call_id, reason) DO NOTHING"
	putTurn    = numbered(rows.Turns.Insert()) + `
		ON CONFLICT (prefix) DO UPDATE SET time_us = greatest(turns.time_us, excluded.time_us), model = excluded.model, system = excluded.system,
		tools = excluded.tools, lifetime_ns = excluded.lifetime_ns, account = excluded.account,
		conversation = excluded.conversation, thread = excluded.thread,
		moment = CASE WHEN turns.moment = '' THEN excluded.moment ELSE turns.moment END,
		elided = CASE WHEN excluded.elided = '' THEN turns.elided ELSE excluded.elided END`
	putForm  = numbered(rows.Forms.Insert()) + " ON CONFLICT (id) DO NOTHING"
	putPlace = numbered(rows.Places.Insert()) + `
		ON CONFLICT (place, form) DO UPDATE SET time_us = greatest(sent_places.time_us, excluded.time_us),
		bound = sent_places.bound OR excluded.bound, drops = sent_places.drops OR excluded.drops`
)

// Append implements record.Store. The batch is one transaction. Writing the same batch twice has the effect of writing it once.
func (s *Store) Append(ctx context.Context, b record.Batch) error {
	if b.Empty() && !s.closed.Load() {
		return ctx.Err()
	}
	err := s.again(ctx, func(ctx context.Context, _ bool) error {
		var all pgx.Batch
		all.Queue("SELECT pg_advisory_xact_lock_shared($1)", pruneLock) // while this lock is held, pruning cannot remove a form that a place names
		queue(&all, putRequest, b.Requests, rows.Requests.Values)
		queue(&all, putTrim, b.Trims, rows.Trims.Values)
		queue(&all, putTurn, b.Turns, rows.Turns.Values)
		queue(&all, putForm, b.Forms, rows.Forms.Values)
		queue(&all, putPlace, b.Places, rows.Places.Values)
		queue(&all, putToolSet, b.ToolSets, rows.ToolSets.Values)
		queue(&all, putToolCalls, b.ToolCalls, rows.ToolCalls.Values)
		return s.transact(ctx, func(tx pgx.Tx) error { return tx.SendBatch(ctx, &all).Close() })
	})
	return s.explain("append to", err)
}

func queue[T any](b *pgx.Batch, statement string, list []T, values func(T) []any) {
	for _, row := range list {
		b.Queue(statement, keepAll(values(row))...)
	}
}

// Requests implements record.Store.
func (s *Store) Requests(ctx context.Context, q record.Query) ([]record.Request, error) {
	return list(ctx, s, rows.Requests.Columns, "requests", q, rows.Requests.Read)
}

// Trims implements record.Store.
func (s *Store) Trims(ctx context.Context, q record.Query) ([]record.Trim, error) {
	return list(ctx, s, rows.Trims.Columns, "trims", q, rows.Trims.Read)
}

// list reads the rows of a table that q selects, oldest first.
func list[T any](ctx context.Context, s *Store, columns, table string, q record.Query, scan func(rows.Row) (T, error)) ([]T, error) {
	condition := rows.Where(q)
	statement := "SELECT " + columns + " FROM " + table + " WHERE " + condition.String() + " ORDER BY time_us DESC, seq DESC"
	if q.Limit > 0 {
		statement += fmt.Sprint(" LIMIT ", q.Limit)
	}
	out, err := fetch(ctx, s.database, scan, statement, condition.Args...)
	slices.Reverse(out)
	return out, s.explain("read", err)
}

// Turns implements record.Store.
func (s *Store) Turns(ctx context.Context, limit int) ([]record.Turn, error) {
	of := func(cold string) string {
		return "(SELECT " + rows.Turns.Columns + " FROM turns WHERE (moment <> '') = " + cold +
			fmt.Sprint(" ORDER BY time_us DESC LIMIT ", max(limit, 0), ")")
	}
	out, err := fetch(ctx, s.database, rows.Turns.Read, of("false")+" UNION ALL "+of("true"))
	slices.SortStableFunc(out, func(a, b record.Turn) int { return b.Time.Compare(a.Time) })
	return out, s.explain("read", err)
}

// TurnsAt implements record.Store.
func (s *Store) TurnsAt(ctx context.Context, prefixes []uint64) ([]record.Turn, error) {
	out, err := fetch(ctx, s.database, rows.Turns.Read, "SELECT "+rows.Turns.Columns+" FROM turns WHERE prefix = ANY(?) ORDER BY time_us DESC", signed(prefixes))
	return out, s.explain("read", err)
}

// signed converts numbers to the type of the columns.
func signed(numbers []uint64) []int64 {
	out := make([]int64, len(numbers))
	for i, n := range numbers {
		out[i] = int64(n)
	}
	return out
}

// SentForms implements record.Store. It reads places before forms, because a form is written before a place that names it.
func (s *Store) SentForms(ctx context.Context, places []uint64) ([]record.SentPlace, []record.SentForm, error) {
	numbers := signed(places)
	at, err := fetch(ctx, s.database, rows.Places.Read, "SELECT "+rows.Places.Columns+
		" FROM sent_places WHERE place = ANY(?) ORDER BY time_us DESC", numbers)
	if err != nil || len(at) == 0 {
		return nil, nil, s.explain("read", err)
	}
	forms, err := fetch(ctx, s.database, rows.Forms.Read, `WITH RECURSIVE used (id) AS (
			SELECT form FROM sent_places WHERE place = ANY(?)
			UNION SELECT parent FROM sent_forms JOIN used USING (id))
		SELECT `+rows.Forms.Columns+` FROM sent_forms JOIN used USING (id)`, numbers)
	return at, forms, s.explain("read", err)
}
