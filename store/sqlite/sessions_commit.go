package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/stet-dev/stet/store/rows"
)

// committer lets many goroutines share commits. Only the goroutine that holds the right to commit writes. It writes all waiting
// jobs: its own and those of other goroutines. A job that is added during a commit waits for the next commit. So one commit
// writes many jobs, and a job waits for at most two commits.
type committer struct {
	right chan struct{} // has capacity 1; the goroutine that writes holds its one slot, and may use all fields below except waiting

	mu      sync.Mutex
	waiting []*job

	group int // number of jobs in the last commit

	conn                        *sql.Conn
	find, create, update, event *sql.Stmt
	cache                       map[string]known
}

// cached is the maximum number of sessions in the cache.
const cached = 1000

// wait adds j and waits until it is written. It returns false if ctx ended before j was in a commit.
func (s *Sessions) wait(ctx context.Context, j *job) bool {
	w := &s.commit
	w.mu.Lock()
	w.waiting = append(w.waiting, j)
	w.mu.Unlock()
	select {
	case <-j.done:
		return true
	case w.right <- struct{}{}:
		w.gather()
		if jobs := w.take(); len(jobs) > 0 {
			s.write(jobs)
			w.group = len(jobs)
		}
		<-w.right
	case <-ctx.Done():
		if w.withdraw(j) {
			return false
		}
	}
	<-j.done
	return true
}

// gather yields the processor, so that the goroutines of the last commit can add their next jobs to this commit. Without it the
// first of them would write alone, and the others would wait.
func (w *committer) gather() {
	for range w.group {
		w.mu.Lock()
		n := len(w.waiting)
		w.mu.Unlock()
		if n >= w.group {
			return
		}
		runtime.Gosched()
	}
}

// take removes and returns all waiting jobs. The caller must write them.
func (w *committer) take() []*job {
	w.mu.Lock()
	defer w.mu.Unlock()
	jobs := w.waiting
	w.waiting = nil
	return jobs
}

// withdraw removes j if it is still waiting, and reports whether it was.
func (w *committer) withdraw(j *job) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.waiting, j)
	if i >= 0 {
		w.waiting = slices.Delete(w.waiting, i, i+1)
	}
	return i >= 0
}

// prepare opens the connection and prepares the statements, if that is not done yet.
func (w *committer) prepare(ctx context.Context, db *sql.DB) (err error) {
	if w.conn != nil {
		return nil
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	for _, p := range []struct {
		statement **sql.Stmt
		text      string
	}{
		{&w.find, "SELECT key, " + rows.Infos.Columns + " FROM sessions WHERE id = ?"},
		{&w.create, "INSERT INTO sessions (key, " + rows.Infos.Columns + ") VALUES (?, " + rows.Marks(rows.Infos.Columns) + ")"},
		{&w.update, `UPDATE sessions SET title = ?, first = ?, model = ?, next = ?, closed = ?, updated_us = ?, last = ?, count = ?
			WHERE key = ?`},
		{&w.event, "INSERT INTO events (session, seq, time_us, kind, version, sum, body) VALUES (?, ?, ?, ?, ?, ?, ?)"},
	} {
		if *p.statement, err = conn.PrepareContext(ctx, p.text); err != nil {
			return errors.Join(err, conn.Close())
		}
	}
	w.conn = conn
	return nil
}

// remember caches sessions as they are in the file after a commit.
func (w *committer) remember(sessions map[string]known) {
	if w.cache == nil || len(w.cache)+len(sessions) > cached {
		w.cache = map[string]known{}
	}
	maps.Copy(w.cache, sessions)
}

// close closes the connection and its statements, and empties the cache.
func (w *committer) close() error {
	conn := w.conn
	if conn == nil {
		return nil
	}
	w.conn, w.cache = nil, nil
	var errs []error
	for _, st := range []*sql.Stmt{w.find, w.create, w.update, w.event} {
		errs = append(errs, st.Close())
	}
	return errors.Join(append(errs, conn.Close())...)
}
