package rows

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/record"
)

// Records implements record.Store and record.Noter in a database. Its methods may be called concurrently.
type Records struct {
	db     Database
	logs   *group[logging]
	guard  guard
	anchor Anchor
}

// NewRecords returns the records in a database.
func NewRecords(db Database, a Anchor) *Records {
	return &Records{db: db, logs: newGroup[logging](), anchor: a}
}

// Wait waits until running calls of Log have ended. Others wait until release is called.
func (s *Records) Wait() (release func()) { return s.logs.wait() }

func (s *Records) explain(op string, err error) error {
	return explain(s.db, op, "records", record.ErrClosed, err)
}

// larger returns the part of an upsert that keeps the larger one of the stored and the new value of a column.
func larger(table, column string) string {
	return fmt.Sprintf("%[2]s = CASE WHEN excluded.%[2]s > %[1]s.%[2]s THEN excluded.%[2]s ELSE %[1]s.%[2]s END", table, column)
}

var (
	putRequest   = Requests.Insert() + " ON CONFLICT (id) DO NOTHING"
	putTrim      = Trims.Insert() + " ON CONFLICT (request, call_id, reason) DO NOTHING"
	putToolSet   = ToolSets.Insert() + " ON CONFLICT (id) DO NOTHING"
	putToolCalls = ToolCalls.Insert() + " ON CONFLICT (conversation, agent, tool) DO UPDATE SET time_us = excluded.time_us, " +
		larger("tool_calls", "calls")
	putNote = Notes.Insert() + " ON CONFLICT (kind, key) DO UPDATE SET text = excluded.text, time_us = excluded.time_us"
)

// Append implements record.Store. The batch is one transaction. Writing the same batch twice has the effect of writing it once.
func (s *Records) Append(ctx context.Context, b record.Batch) error {
	if b.Len() == 0 && !s.db.Closed() {
		return ctx.Err()
	}
	all := []Statement{
		put(Requests, putRequest, b.Requests), put(Trims, putTrim, b.Trims),
		put(Turns, putTurn, b.Turns), put(Forms, putForm, b.Forms), put(Places, putPlace, b.Places), put(Refusals, putRefusal, b.Refusals),
		put(ToolSets, putToolSet, b.ToolSets), put(ToolCalls, putToolCalls, b.ToolCalls), put(Notes, putNote, b.Notes),
	}
	if lock := s.db.Dialect().Appending; lock != "" {
		all = slices.Insert(all, 0, call(lock)) // so pruning cannot remove a form that a place names
	}
	err := s.db.Again(ctx, func(ctx context.Context, _ bool) error {
		return s.db.Transact(ctx, false, func(tx Conn) error { return tx.Send(ctx, all...) })
	})
	return s.explain("append to", err)
}

// Requests implements record.Store.
func (s *Records) Requests(ctx context.Context, q record.Query) ([]record.Request, error) {
	out, err := selected(ctx, s.db, Requests, q)
	return out, s.explain("read", err)
}

// Arrived implements record.Store.
func (s *Records) Arrived(ctx context.Context, since record.Cursor) (out []record.Request, next record.Cursor, err error) {
	now, last := time.Now(), int64(0)
	err = s.db.Repeat(ctx, func(ctx context.Context, _ bool) error {
		_, err := One(ctx, s.db, "SELECT coalesce(max(seq), 0) FROM requests", nil, &last)
		return err
	})
	if last < since.Last {
		since.Last, since.Newer = 0, 0 // pruning has removed all rows, and numbers began anew
	}
	if since.At.IsZero() {
		since = record.Cursor{Last: last, Newer: last, At: now}
	}
	if err == nil {
		out, err = fetch(ctx, s.db, Requests.Read, "SELECT "+Requests.Columns+" FROM requests WHERE seq > ?", since.Last)
	}
	if now.Sub(since.At) >= s.db.Dialect().Late {
		since = record.Cursor{Last: since.Newer, Newer: last, At: now}
	}
	return out, since, s.explain("read", err)
}

// Trims implements record.Store.
func (s *Records) Trims(ctx context.Context, q record.Query) ([]record.Trim, error) {
	out, err := selected(ctx, s.db, Trims, q)
	return out, s.explain("read", err)
}

// selected reads the rows of a table that q selects, oldest first.
func selected[T any](ctx context.Context, db Database, m Mapping[T], q record.Query) ([]T, error) {
	condition := Where(q)
	order := " ORDER BY time_us DESC, seq DESC"
	if q.Oldest {
		order = " ORDER BY time_us, seq"
	}
	statement := "SELECT " + m.Columns + " FROM " + m.Table + " WHERE " + condition.String() + order
	if q.Limit > 0 {
		statement += fmt.Sprint(" LIMIT ", q.Limit)
	}
	out, err := fetch(ctx, db, m.Read, statement, condition.Args...)
	if !q.Oldest {
		slices.Reverse(out)
	}
	return out, err
}

// Tools implements record.Store.
func (s *Records) Tools(ctx context.Context, since time.Time) ([]record.ToolSet, []record.ToolCalls, error) {
	condition := Where(record.Query{From: since})
	calls, err := fetch(ctx, s.db, ToolCalls.Read, "SELECT "+ToolCalls.Columns+" FROM tool_calls WHERE "+condition.String()+
		" ORDER BY time_us, conversation, agent, tool", condition.Args...)
	if err != nil {
		return nil, nil, s.explain("read", err)
	}
	sets, err := fetch(ctx, s.db, ToolSets.Read, "SELECT "+ToolSets.Columns+" FROM tool_sets")
	return sets, calls, s.explain("read", err)
}

// Notes implements record.Store.
func (s *Records) Notes(ctx context.Context, kind string, keys ...string) ([]record.Note, error) {
	where, args := "kind = ? AND text <> ''", []any{kind}
	if len(keys) > 0 {
		where += " AND key IN (?" + strings.Repeat(", ?", len(keys)-1) + ")"
	}
	for _, k := range keys {
		args = append(args, k)
	}
	out, err := fetch(ctx, s.db, Notes.Read, "SELECT "+Notes.Columns+" FROM notes WHERE "+where+" ORDER BY time_us, key", args...)
	return out, s.explain("read", err)
}

// Prune implements record.Store. It is one transaction.
func (s *Records) Prune(ctx context.Context, l record.Limits) (removed int, err error) {
	err = s.db.Transact(ctx, false, func(tx Conn) (err error) {
		if lock := s.db.Dialect().Pruning; lock != "" {
			if err := tx.Send(ctx, call(lock)); err != nil {
				return err
			}
		}
		removed, err = prune(ctx, tx, l)
		return err
	})
	if err != nil {
		removed = 0
	}
	return removed, s.explain("prune", err)
}

func prune(ctx context.Context, tx Conn, l record.Limits) (removed int, err error) {
	var since int64
	if !l.Since.IsZero() {
		since = CeilMicro(l.Since)
	}
	first := since // time of the oldest request that stays
	if l.Requests > 0 {
		if _, err := One(ctx, tx, `SELECT time_us FROM requests ORDER BY time_us DESC, seq DESC LIMIT 1 OFFSET ?`, []any{l.Requests - 1}, &first); err != nil {
			return 0, err
		}
		first = max(first, since)
	}
	n, err := tx.Exec(ctx, "DELETE FROM requests WHERE time_us < ?", first)
	if err == nil {
		err = pruneSent(ctx, tx, l, since)
	}
	for _, s := range []Statement{ // each by itself: it may take long, and then ctx can end it
		call("DELETE FROM trims WHERE time_us < ?", first), call("DELETE FROM refusals WHERE time_us < ?", since),
		call("DELETE FROM notes WHERE time_us < ?", since), call("DELETE FROM tool_calls WHERE time_us < ?", first),
		call("DELETE FROM tool_sets WHERE id NOT IN (SELECT tool_set FROM requests)"),
	} {
		if err == nil {
			_, err = tx.Exec(ctx, s.Text, s.Args[0]...)
		}
	}
	return int(n), err
}
