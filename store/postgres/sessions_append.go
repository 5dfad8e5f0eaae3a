package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/rows"
)

// addition is a batch together with its rows, which are to be written.
type addition struct {
	session.Batch
	rows []rows.Event
}

// Append implements session.Store. Appends that are called during a commit are written together, in the next commit.
func (s *Sessions) Append(ctx context.Context, batches ...session.Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now := time.Now()
	var all []addition
	for _, b := range batches {
		events, err := b.Prepared(now)
		if err != nil {
			return err
		}
		kept, err := rows.EncodeEvents(b.Session, events)
		if err != nil {
			return err
		}
		b.Events = events
		all = append(all, addition{b, kept})
	}
	_, err := s.appends.do(ctx, all, s.write)
	return err
}

// write writes jobs in one transaction, and with one statement if possible. A job that does not fit its sessions fails alone. An
// error of the database fails all jobs.
func (s *Sessions) write(jobs []*job[[]addition]) {
	if s.closed.Load() {
		failAll(jobs, s.explain("append to", session.ErrClosed))
		return
	}
	err := s.again(context.Background(), func(ctx context.Context, first bool) error {
		for _, j := range jobs {
			j.err = nil
		}
		if first {
			if done, err := s.writeKnown(ctx, jobs); done || err != nil {
				return err
			}
		}
		var now map[string]known
		err := s.transact(ctx, func(tx pgx.Tx) (err error) {
			now, err = writeEvents(ctx, tx, jobs, !first)
			return err
		})
		if err == nil {
			s.remember(now)
		}
		return err
	})
	if err != nil {
		failAll(jobs, s.explain("append to", err))
	}
}

// known is a session as it is in the database.
type known struct {
	key  int64
	info session.Info
}

// errTaken is the error if another process has created the session in the meantime.
var errTaken = errors.New("the session was begun elsewhere meanwhile")

// writeEvents writes the jobs that fit their sessions, and returns the sessions with these events. interrupted says that an
// earlier commit of the same jobs may have succeeded.
func writeEvents(ctx context.Context, tx pgx.Tx, jobs []*job[[]addition], interrupted bool) (map[string]known, error) {
	sessions, err := lockSessions(ctx, tx, jobs)
	if err != nil {
		return nil, err
	}
	var events []rows.Event
	changed := map[string]bool{}
	for _, j := range jobs {
		if interrupted {
			if done, err := stored(ctx, tx, sessions, j.value); err != nil {
				return nil, err
			} else if done {
				continue
			}
		}
		mine, err := after(sessions, j.value)
		if err != nil {
			j.err = err
			continue
		}
		for _, id := range slices.Sorted(maps.Keys(mine)) {
			k := mine[id]
			if k.key == 0 {
				if k.key, err = createSession(ctx, tx, k.info); err != nil {
					return nil, err
				}
			}
			sessions[id], changed[id] = k, true
		}
		events = appendRows(events, sessions, j.value)
	}
	if len(events) == 0 {
		return sessions, nil
	}
	if err := insertEvents(ctx, tx, events, sessions, slices.Collect(maps.Keys(changed))); err != nil {
		return nil, err
	}
	return sessions, nil
}

// appendRows appends the rows of additions to events. It sets the key of the session and the checksum of each row.
func appendRows(events []rows.Event, sessions map[string]known, additions []addition) []rows.Event {
	for _, a := range additions {
		for _, r := range a.rows {
			r.Key = sessions[a.Session].key
			r.Sum = int64(r.Checksum())
			events = append(events, r)
		}
	}
	return events
}

// lockSessions returns the existing sessions that jobs name. No other process can change these sessions before the transaction
// ends.
func lockSessions(ctx context.Context, tx pgx.Tx, jobs []*job[[]addition]) (map[string]known, error) {
	var ids []string
	for _, j := range jobs {
		for _, a := range j.value {
			ids = append(ids, keep(a.Session))
		}
	}
	found, err := each(ctx, tx, func(r rows.Row) (k known, err error) {
		k.key, k.info, err = rows.ScanInfo(r)
		return k, err
	}, "SELECT key, "+rows.Infos.Columns+" FROM sessions WHERE id = ANY(?) ORDER BY id FOR UPDATE", ids)
	sessions := map[string]known{}
	for _, k := range found {
		sessions[k.info.ID] = k
	}
	return sessions, err
}

// after returns the sessions of a job with the job's events added. It returns an error if a session has other events than the job
// expects.
func after(sessions map[string]known, job []addition) (map[string]known, error) {
	mine := map[string]known{}
	for _, a := range job {
		k, ok := mine[a.Session]
		if !ok {
			k = sessions[a.Session]
			k.info.ID = a.Session
		}
		if k.info.Last != a.After {
			return nil, a.Stale(k.info.Last)
		}
		for _, e := range a.Events {
			k.info.Add(e)
		}
		mine[a.Session] = k
	}
	return mine, nil
}

// stored reports whether a job is already in the database: the events of its first batch are there with the same checksums.
func stored(ctx context.Context, tx pgx.Tx, sessions map[string]known, job []addition) (bool, error) {
	if len(job) == 0 {
		return false, nil
	}
	a := job[0]
	k := sessions[a.Session]
	first, last := a.rows[0].Seq, a.rows[len(a.rows)-1].Seq
	if k.info.Last < last {
		return false, nil
	}
	sums, err := each(ctx, tx, func(r rows.Row) (sum int64, err error) { return sum, r.Scan(&sum) },
		"SELECT sum FROM events WHERE session = ? AND seq BETWEEN ? AND ? ORDER BY seq", k.key, int64(first), int64(last))
	if err != nil || len(sums) != len(a.rows) {
		return false, err
	}
	for i, r := range a.rows {
		if r.Key = k.key; sums[i] != int64(r.Checksum()) {
			return false, nil
		}
	}
	return true, nil
}

func createSession(ctx context.Context, tx pgx.Tx, i session.Info) (key int64, err error) {
	err = tx.QueryRow(ctx, numbered(rows.Infos.Insert())+" ON CONFLICT (id) DO NOTHING RETURNING key",
		keepAll(rows.Infos.Values(i))...).Scan(&key)
	if errors.Is(err, pgx.ErrNoRows) {
		err = fmt.Errorf("session %s: %w", i.ID, errTaken)
	}
	return key, err
}

// eventColumns returns the columns of events, each as an array.
func eventColumns(events []rows.Event) []any {
	var keys, seqs, times, sums []int64
	var versions []int32
	var kinds, bodies []string
	for _, e := range events {
		keys, seqs, times = append(keys, e.Key), append(seqs, int64(e.Seq)), append(times, e.Micro)
		kinds, versions = append(kinds, keep(e.Kind)), append(versions, int32(e.Version))
		sums, bodies = append(sums, int64(e.Sum)), append(bodies, keep(e.Body))
	}
	return []any{keys, seqs, times, kinds, versions, sums, bodies}
}

// infoColumns returns the columns of sessions that events change, each as an array.
func infoColumns(sessions map[string]known, ids []string) []any {
	var keys, closed, updated, last, count []int64
	var titles, firsts, models, next []string
	for _, id := range ids {
		k := sessions[id]
		i := k.info
		keys, titles, firsts = append(keys, k.key), append(titles, keep(i.Title)), append(firsts, keep(i.First))
		models, next, closed = append(models, keep(i.Model)), append(next, keep(i.Next)), append(closed, int64(i.Closed))
		updated, last, count = append(updated, i.Updated.UnixMicro()), append(last, int64(i.Last)), append(count, int64(i.Count))
	}
	return []any{keys, titles, firsts, models, next, closed, updated, last, count}
}

// insertEvents writes events, and updates the rows of the changed sessions.
func insertEvents(ctx context.Context, tx pgx.Tx, events []rows.Event, sessions map[string]known, changed []string) error {
	b := &pgx.Batch{}
	b.Queue(`INSERT INTO events (session, seq, time_us, kind, version, sum, body)
		SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::integer[], $6::bigint[], $7::text[])`,
		eventColumns(events)...)
	b.Queue(`UPDATE sessions AS s SET title = u.title, first = u.first, model = u.model, next = u.next, closed = u.closed,
			updated_us = u.updated_us, last = u.last, count = u.count
		FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[])
			AS u (key, title, first, model, next, closed, updated_us, last, count)
		WHERE s.key = u.key`, infoColumns(sessions, changed)...)
	return tx.SendBatch(ctx, b).Close()
}
