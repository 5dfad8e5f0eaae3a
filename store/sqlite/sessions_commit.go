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

// committer writes for all appending goroutines. One that finds the right to commit free
// writes what waits, its own and the others'; who comes meanwhile waits for the
// next one. So one commit serves many, and none waits for more than two.
type committer struct {
	right chan struct{} // of capacity 1: held by who writes; all below but waiting is theirs

	mu      sync.Mutex
	waiting []*job

	group int // jobs of the last commit

	conn                        *sql.Conn
	find, create, update, event *sql.Stmt
	cache                       map[string]known
}

// cached is how many sessions are kept in mind.
const cached = 1000

// wait hands j in and waits until it was written. It is false when ctx ended
// before anybody began with it.
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

// gather lets those come who were served by the commit before and are about to
// append again. Else the first of them would write alone, and the others wait.
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

// take returns what waits, which is then the caller's to write.
func (w *committer) take() []*job {
	w.mu.Lock()
	defer w.mu.Unlock()
	jobs := w.waiting
	w.waiting = nil
	return jobs
}

// withdraw takes j back, if it was not begun.
func (w *committer) withdraw(j *job) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.waiting, j)
	if i >= 0 {
		w.waiting = slices.Delete(w.waiting, i, i+1)
	}
	return i >= 0
}

// prepare connects and prepares the statements, once.
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
		{&w.find, "SELECT key, " + rows.InfoColumns + " FROM sessions WHERE id = ?"},
		{&w.create, "INSERT INTO sessions (key, " + rows.InfoColumns + ") VALUES (?, " + rows.Marks(rows.InfoColumns) + ")"},
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

// remember keeps sessions in mind as they are in the file now.
func (w *committer) remember(sessions map[string]known) {
	if w.cache == nil || len(w.cache)+len(sessions) > cached {
		w.cache = map[string]known{}
	}
	maps.Copy(w.cache, sessions)
}

// close lets go of the connection and its statements.
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
