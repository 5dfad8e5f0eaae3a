package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"time"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/rows"
)

// Append implements session.Store. Appends that are called during a commit are written together, in the next commit.
func (s *Sessions) Append(ctx context.Context, batches ...session.Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.broken != nil && !s.file.closed.Load() {
		return s.broken
	}
	j := &job{done: make(chan struct{})}
	now := time.Now()
	for _, b := range batches {
		events, err := b.Prepared(now)
		if err != nil {
			return err
		}
		kept, err := rows.EncodeEvents(b.Session, events)
		if err != nil {
			return err
		}
		w := addition{Batch: b, rows: kept}
		w.Events = events
		j.additions = append(j.additions, w)
	}
	if !s.wait(ctx, j) {
		return ctx.Err()
	}
	return j.err
}

// addition is a batch together with its rows, which are to be written.
type addition struct {
	session.Batch
	rows []rows.Event
}

// job is one call of Append.
type job struct {
	additions []addition
	done      chan struct{} // closed when err is final
	err       error
}

// known is a session as it was in the file when this process last wrote to it.
type known struct {
	key  int64
	info session.Info
}

// write writes jobs in one transaction. A job that does not fit its sessions fails alone. An error of the file fails all jobs.
// The caller holds the right to commit.
func (s *Sessions) write(jobs []*job) {
	err := s.transaction(jobs)
	if taken(err) { // another process has written to a session: try again with an empty cache
		for _, j := range jobs {
			j.err = nil
		}
		err = s.transaction(jobs)
	}
	for _, j := range jobs {
		if err != nil && j.err == nil {
			j.err = s.explain("append to", err)
		}
		close(j.done)
	}
}

func (s *Sessions) transaction(jobs []*job) (err error) {
	ctx := context.Background() // SQLite limits how long it waits for other processes
	w := &s.commit
	if s.file.closed.Load() {
		return session.ErrClosed
	}
	defer func() {
		if err != nil {
			_ = w.close() // the state of the connection is unknown: the next write opens a new one
		}
	}()
	if err := w.prepare(ctx, s.db); err != nil {
		return err
	}
	tx, err := w.conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // fails after a commit, which is not an error
	next := map[string]known{}           // sessions as they are after this transaction
	for _, j := range jobs {
		mine, err := w.check(ctx, j, next)
		if err != nil {
			return err
		}
		if j.err != nil {
			continue
		}
		if err := w.insert(ctx, j, mine); err != nil {
			return err
		}
		maps.Copy(next, mine)
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	w.remember(next)
	return nil
}

// check returns the sessions of a job with the job's events added. If a session has other events than the job expects, check sets
// the error of the job, and none of its events may be written.
func (w *committer) check(ctx context.Context, j *job, next map[string]known) (map[string]known, error) {
	mine := map[string]known{}
	for i := range j.additions {
		a := &j.additions[i]
		k, ok := mine[a.Session]
		if !ok {
			k, ok = next[a.Session]
		}
		if !ok {
			var err error
			if k, err = w.look(ctx, a.Session, a.After); err != nil {
				return nil, err
			}
		}
		if k.info.Last != a.After {
			j.err = a.Stale(k.info.Last)
			return nil, nil
		}
		for _, e := range a.Events {
			k.info.Add(e)
		}
		mine[a.Session] = k
	}
	return mine, nil
}

// look returns a session from the cache or from the file. A cached session may be outdated, if another process has added events.
// Then the number of the next event is taken, and inserting it fails. A session that does not exist has Last 0.
func (w *committer) look(ctx context.Context, id string, after uint64) (known, error) {
	if k, ok := w.cache[id]; ok && k.info.Last == after {
		return k, nil
	}
	k := known{}
	var err error
	k.key, k.info, err = rows.ScanInfo(w.find.QueryRowContext(ctx, id))
	if errors.Is(err, sql.ErrNoRows) {
		return known{info: session.Info{ID: id}}, nil
	}
	return k, err
}

// taken reports whether err says that the number of an event or the id of a session exists already.
func taken(err error) bool {
	var e *driver.Error
	return errors.As(err, &e) && e.Code() == lib.SQLITE_CONSTRAINT_UNIQUE
}

// insert writes the events of a job, and the rows of its sessions.
func (w *committer) insert(ctx context.Context, j *job, mine map[string]known) error {
	for id, k := range mine {
		if k.key == 0 {
			res, err := w.create.ExecContext(ctx, append([]any{nil}, rows.Infos.Values(k.info)...)...)
			if err != nil {
				return err
			}
			if k.key, err = res.LastInsertId(); err != nil {
				return err
			}
			mine[id] = k
			continue
		}
		i := k.info
		_, err := w.update.ExecContext(ctx, i.Title, i.First, i.Model, i.Next, int64(i.Closed), i.Updated.UnixMicro(), int64(i.Last), i.Count, k.key)
		if err != nil {
			return err
		}
	}
	for _, a := range j.additions {
		for _, r := range a.rows {
			r.Key = mine[a.Session].key
			if _, err := w.event.ExecContext(ctx, r.Key, int64(r.Seq), r.Micro, r.Kind, r.Version, int64(r.Checksum()), r.Body); err != nil {
				return err
			}
		}
	}
	return nil
}
