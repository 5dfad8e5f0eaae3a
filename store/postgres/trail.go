package postgres

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/rows"
)

// logging is the job of one call of Log.
type logging struct {
	entries []record.Entry
	chained []record.Entry // entries with their numbers and hashes, set when they are written or at an attempt to write them
}

// Log implements record.Trail. Entries that are added during a commit are written together, in the next commit. During a commit
// the end of the chain is locked, so the chain has one writer at a time.
func (s *Store) Log(ctx context.Context, entries ...record.Entry) ([]record.Entry, error) {
	if len(entries) == 0 && !s.closed.Load() {
		return nil, ctx.Err()
	}
	l, err := s.logs.do(ctx, logging{entries: entries}, s.log)
	if err != nil {
		return nil, err
	}
	return l.chained, nil
}

// log writes jobs in one transaction: all of them or none.
func (s *Store) log(jobs []*job[logging]) {
	if s.closed.Load() {
		failAll(jobs, s.explain("append to", record.ErrClosed))
		return
	}
	err := s.again(context.Background(), func(ctx context.Context, first bool) error {
		return s.transact(ctx, func(tx pgx.Tx) error { return s.logIn(ctx, tx, jobs, !first) })
	})
	if err != nil {
		failAll(jobs, s.explain("append to", err))
		return
	}
	last := jobs[len(jobs)-1].value.chained
	s.guard.wrote(last[len(last)-1].Link())
}

// logIn adds the entries of jobs to the chain. interrupted says that an earlier commit of the same jobs may have succeeded.
func (s *Store) logIn(ctx context.Context, tx pgx.Tx, jobs []*job[logging], interrupted bool) error {
	head, err := lockHead(ctx, tx)
	if err != nil {
		return err
	}
	if err := s.whole(ctx, tx, head); err != nil {
		return err
	}
	if done := jobs[0].value.chained; interrupted && len(done) > 0 {
		last, there := done[len(done)-1].Link(), false
		err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM trail WHERE seq = $1 AND hash = $2)", int64(last.Seq), last.Hash).Scan(&there)
		if err != nil || there {
			return err
		}
	}
	var all []record.Entry
	for _, j := range jobs {
		j.value.chained = record.Chain(head, j.value.entries)
		head = j.value.chained[len(j.value.chained)-1].Link()
		all = append(all, j.value.chained...)
	}
	return extend(ctx, tx, all)
}

// lockHead returns the end of the chain. Until the transaction ends, no other process adds to the chain.
func lockHead(ctx context.Context, tx pgx.Tx) (head record.Link, err error) {
	err = tx.QueryRow(ctx, "SELECT seq, hash FROM trail_head FOR UPDATE").Scan(&head.Seq, &head.Hash)
	if errors.Is(err, pgx.ErrNoRows) {
		return head, lost("trail_head, which says how far the trail has reached, is empty")
	}
	return head, err
}

var insertEntry = numbered(rows.Trail.Insert())

// extend writes entries that are chained already, and updates trail_head.
func extend(ctx context.Context, tx pgx.Tx, chained []record.Entry) error {
	var b pgx.Batch
	queue(&b, insertEntry, chained, rows.Trail.Values)
	last := chained[len(chained)-1]
	b.Queue("UPDATE trail_head SET seq = $1, hash = $2", int64(last.Seq), last.Hash)
	return tx.SendBatch(ctx, &b).Close()
}

// Entries implements record.Trail.
func (s *Store) Entries(ctx context.Context, q record.TrailQuery) ([]record.Entry, error) {
	repeat := s.repeat
	if q.Session != "" {
		repeat = s.again // the query for one session is quick
	}
	var out []record.Entry
	err := repeat(ctx, func(ctx context.Context, _ bool) (err error) {
		out, err = entries(ctx, s.pool, q)
		return err
	})
	return out, s.explain("read", err)
}

func entries(ctx context.Context, on queryer, q record.TrailQuery) ([]record.Entry, error) {
	condition := rows.TrailWhere(q)
	var b strings.Builder
	b.WriteString("SELECT " + rows.Trail.Columns + " FROM trail WHERE " + condition.String() + " ORDER BY seq")
	args := condition.Args
	if q.Last {
		b.WriteString(" DESC")
	}
	if q.Limit > 0 {
		b.WriteString(" LIMIT ?")
		args = append(args, q.Limit)
	}
	out, err := each(ctx, on, rows.Trail.Read, b.String(), args...)
	if q.Last {
		slices.Reverse(out)
	}
	return out, err
}
