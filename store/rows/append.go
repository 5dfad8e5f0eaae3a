package rows

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/session"
)

// addition is a batch together with its rows, which are to be written.
type addition struct {
	session.Batch
	rows []Event
}

// Known is a session as it is in the database.
type Known struct {
	Key  int64
	Info session.Info
}

// Append implements session.Store. Appends that are called during a commit are written together, in the next commit.
func (s *Sessions) Append(ctx context.Context, batches ...session.Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.hooks.Broken != nil && !s.db.Closed() {
		return s.hooks.Broken
	}
	now := time.Now()
	var all []addition
	for _, b := range batches {
		events, err := b.Prepared(now)
		if err != nil {
			return err
		}
		kept, err := EncodeEvents(b.Session, events)
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
	if s.db.Closed() {
		failAll(jobs, s.explain("append to", session.ErrClosed))
		return
	}
	err := s.db.Again(context.Background(), func(ctx context.Context, first bool) error {
		for _, j := range jobs {
			j.err = nil
		}
		if first && s.hooks.AppendKnown != nil {
			if done, err := s.writeKnown(ctx, jobs); done || err != nil {
				return err
			}
		}
		var now map[string]Known
		err := s.db.Transact(ctx, true, func(tx Conn) (err error) {
			now, err = s.writeEvents(ctx, tx, jobs, !first)
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

// remembered is how many sessions are kept in memory.
const remembered = 1000

// remember keeps sessions in memory, as they are in the database after a commit. The caller has the right to commit (see group).
func (s *Sessions) remember(sessions map[string]Known) {
	if s.hooks.AppendKnown == nil {
		return
	}
	if s.cache == nil || len(s.cache)+len(sessions) > remembered {
		s.cache = map[string]Known{}
	}
	maps.Copy(s.cache, sessions)
}

// writeKnown writes jobs whose sessions are all in memory. It returns false, and has written nothing, in three cases: a session
// is not in memory, a job does not fit its session, or another process has added events to a session.
func (s *Sessions) writeKnown(ctx context.Context, jobs []*job[[]addition]) (bool, error) {
	sessions := map[string]Known{}
	var events []Event
	for _, j := range jobs {
		for _, a := range j.value {
			if _, ok := sessions[a.Session]; !ok {
				k, ok := s.cache[a.Session]
				if !ok {
					return false, nil
				}
				sessions[a.Session] = k
			}
		}
		mine, err := after(sessions, j.value)
		if err != nil {
			return false, nil
		}
		maps.Copy(sessions, mine)
		events = appendRows(events, sessions, j.value)
	}
	if len(events) == 0 {
		return true, nil
	}
	var now, was []Known
	for id, k := range sessions {
		now, was = append(now, k), append(was, s.cache[id])
	}
	done, err := s.hooks.AppendKnown(ctx, now, was, events)
	if done {
		s.remember(sessions)
	}
	return done, err
}

// errTaken is the error if another process has created the session in the meantime.
var errTaken = errors.New("the session was begun elsewhere meanwhile")

var (
	createSession = Infos.Insert() + " ON CONFLICT (id) DO NOTHING RETURNING key"
	updateSession = "UPDATE sessions SET title = ?, first = ?, model = ?, next = ?, closed = ?, updated_us = ?, last = ?, count = ? WHERE key = ?"
	insertEvent   = "INSERT INTO events (session, seq, time_us, kind, version, sum, body) VALUES (?, ?, ?, ?, ?, ?, ?)"
)

// writeEvents writes the jobs that fit their sessions, and returns the sessions with these events. interrupted says that an
// earlier commit of the same jobs may have succeeded.
func (s *Sessions) writeEvents(ctx context.Context, tx Conn, jobs []*job[[]addition], interrupted bool) (map[string]Known, error) {
	sessions, err := s.lockSessions(ctx, tx, jobs)
	if err != nil {
		return nil, err
	}
	var events []Event
	changed := map[string]bool{}
	for _, j := range jobs {
		if interrupted {
			if done, err := isStored(ctx, tx, sessions, j.value); err != nil {
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
			if k.Key != 0 {
				changed[id] = true
			} else if found, err := One(ctx, tx, createSession, Infos.Values(k.Info), &k.Key); err != nil {
				return nil, err
			} else if !found {
				return nil, fmt.Errorf("session %s: %w", id, errTaken)
			}
			sessions[id] = k
		}
		events = appendRows(events, sessions, j.value)
	}
	if len(events) == 0 {
		return sessions, nil
	}
	update, insert := Statement{Text: updateSession}, Statement{Text: insertEvent}
	for id := range changed {
		i := sessions[id].Info
		update.Args = append(update.Args, []any{i.Title, i.First, i.Model, i.Next, int64(i.Closed), i.Updated.UnixMicro(), int64(i.Last), i.Count, sessions[id].Key})
	}
	for _, e := range events {
		insert.Args = append(insert.Args, []any{e.Key, int64(e.Seq), e.Micro, e.Kind, e.Version, e.Sum, e.Body})
	}
	return sessions, tx.Send(ctx, insert, update)
}

// appendRows appends the rows of additions to events. It sets the key of the session and the checksum of each row.
func appendRows(events []Event, sessions map[string]Known, additions []addition) []Event {
	for _, a := range additions {
		for _, r := range a.rows {
			r.Key = sessions[a.Session].Key
			r.Sum = int64(r.Checksum())
			events = append(events, r)
		}
	}
	return events
}

// lockSessions returns the existing sessions that jobs name. No other process can change these sessions before the transaction
// ends.
func (s *Sessions) lockSessions(ctx context.Context, tx Conn, jobs []*job[[]addition]) (map[string]Known, error) {
	sessions := map[string]Known{}
	var ids []any
	for _, j := range jobs {
		for _, a := range j.value {
			ids = append(ids, a.Session)
		}
	}
	for some := range slices.Chunk(ids, 1000) { // databases limit the number of arguments
		found, err := Collect(ctx, tx, func(r Row) (k Known, err error) {
			k.Info, err = Infos.Scan(r, &k.Key)
			return k, err
		}, "SELECT key, "+Infos.Columns+" FROM sessions WHERE id IN (?"+strings.Repeat(", ?", len(some)-1)+") ORDER BY id"+s.db.Dialect().ForUpdate, some...)
		if err != nil {
			return nil, err
		}
		for _, k := range found {
			sessions[k.Info.ID] = k
		}
	}
	return sessions, nil
}

// after returns the sessions of a job with the job's events added. It returns an error if a session has other events than the job
// expects.
func after(sessions map[string]Known, job []addition) (map[string]Known, error) {
	mine := map[string]Known{}
	for _, a := range job {
		k, ok := mine[a.Session]
		if !ok {
			k = sessions[a.Session]
			k.Info.ID = a.Session
		}
		if k.Info.Last != a.After {
			return nil, a.Stale(k.Info.Last)
		}
		for _, e := range a.Events {
			k.Info.Add(e)
		}
		mine[a.Session] = k
	}
	return mine, nil
}

// isStored reports whether a job is already in the database: the events of its first batch are there with the same checksums.
func isStored(ctx context.Context, tx Conn, sessions map[string]Known, job []addition) (bool, error) {
	if len(job) == 0 {
		return false, nil
	}
	a := job[0]
	k := sessions[a.Session]
	first, last := a.rows[0].Seq, a.rows[len(a.rows)-1].Seq
	if k.Info.Last < last {
		return false, nil
	}
	sums, err := Collect(ctx, tx, func(r Row) (sum int64, err error) {
		err = r.Scan(&sum)
		return sum, err
	},
		"SELECT sum FROM events WHERE session = ? AND seq BETWEEN ? AND ? ORDER BY seq", k.Key, int64(first), int64(last))
	if err != nil || len(sums) != len(a.rows) {
		return false, err
	}
	for i, r := range a.rows {
		if r.Key = k.Key; sums[i] != int64(r.Checksum()) {
			return false, nil
		}
	}
	return true, nil
}
