package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/rows"
)

// Sessions is a session.Store in the database. Its methods may be called concurrently.
type Sessions struct {
	*rows.Sessions
	d *database
}

var _ session.Store = (*Sessions)(nil)

// OpenSessions opens the database at a URL (postgres://…), and makes the tables of an empty one.
func OpenSessions(ctx context.Context, where string) (*Sessions, error) {
	d, err := connect(ctx, where, false)
	if err != nil {
		return nil, err
	}
	return &Sessions{rows.NewSessions(d, rows.SessionHooks{AppendKnown: d.appendKnown}), d}, nil
}

// Close implements session.Store. It waits until running writes have ended.
func (s *Sessions) Close() error {
	defer s.Wait()()
	return s.d.Close()
}

// appendStatement changes the given sessions and adds events, if every session in the database is as the process remembers it.
// Otherwise the statement fails with a division by zero. It is one statement, so it needs one transaction and one round trip.
const appendStatement = `WITH given AS (
		SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[],
			$10::bigint[], $11::bigint[]) AS u (key, title, first, model, next, closed, updated_us, last, count, was_us, was_last)
	), changed AS (
		UPDATE sessions AS s SET title = u.title, first = u.first, model = u.model, next = u.next, closed = u.closed,
			updated_us = u.updated_us, last = u.last, count = u.count
		FROM given u WHERE s.key = u.key AND s.last = u.was_last AND s.updated_us = u.was_us
		RETURNING 1
	)
	INSERT INTO events (session, seq, time_us, kind, version, sum, body)
	SELECT e.* FROM unnest($12::bigint[], $13::bigint[], $14::bigint[], $15::text[], $16::bigint[], $17::bigint[], $18::text[]) AS e
	WHERE 1 / (CASE WHEN (SELECT count(*) FROM changed) = cardinality($1::bigint[]) THEN 1 ELSE 0 END) = 1`

// appendKnown is the hook of rows.SessionHooks.
func (d *database) appendKnown(ctx context.Context, sessions, was []rows.Known, events []rows.Event) (bool, error) {
	var keys, closed, updated, last, count, wasUpdated, wasLast []int64
	var titles, firsts, models, next []string
	for i, k := range sessions {
		in := k.Info
		keys, titles, firsts = append(keys, k.Key), append(titles, keep(in.Title)), append(firsts, keep(in.First))
		models, next, closed = append(models, keep(in.Model)), append(next, keep(in.Next)), append(closed, int64(in.Closed))
		updated, last, count = append(updated, in.Updated.UnixMicro()), append(last, int64(in.Last)), append(count, int64(in.Count))
		wasUpdated, wasLast = append(wasUpdated, was[i].Info.Updated.UnixMicro()), append(wasLast, int64(was[i].Info.Last))
	}
	var of, seqs, times, versions, sums []int64
	var kinds, bodies []string
	for _, e := range events {
		of, seqs, times, kinds = append(of, e.Key), append(seqs, int64(e.Seq)), append(times, e.Micro), append(kinds, keep(e.Kind))
		versions, sums, bodies = append(versions, int64(e.Version)), append(sums, e.Sum), append(bodies, keep(e.Body))
	}
	_, err := d.pool.Exec(ctx, appendStatement, keys, titles, firsts, models, next, closed, updated, last, count, wasUpdated, wasLast,
		of, seqs, times, kinds, versions, sums, bodies)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == "22012" || pg.Code == "23505") { // another process has added events to a session
		return false, nil
	}
	return err == nil, err
}
