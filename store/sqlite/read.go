package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/record"
)

// where is q as a condition and its arguments. Limit is not part of it.
func where(q record.Query) (string, []any) {
	conditions, args := []string{"1"}, []any(nil)
	add := func(condition string, arg any) {
		conditions, args = append(conditions, condition), append(args, arg)
	}
	if !q.From.IsZero() {
		add("time_us >= ?", ceilMicro(q.From))
	}
	if !q.To.IsZero() {
		add("time_us < ?", ceilMicro(q.To))
	}
	if q.Conversation != "" {
		add("conversation = ?", q.Conversation)
	}
	if q.Mode != record.All {
		add("observe = ?", q.Mode == record.Observed)
	}
	return strings.Join(conditions, " AND "), args
}

// ceilMicro is the first whole microsecond that is not before t.
func ceilMicro(t time.Time) int64 { return t.Add(time.Microsecond - time.Nanosecond).UnixMicro() }

// Requests implements record.Store.
func (s *Store) Requests(ctx context.Context, q record.Query) ([]record.Request, error) {
	return list(ctx, s, requestColumns, "requests", q, func(rows *sql.Rows) (r record.Request, err error) {
		var at int64
		u, c := &r.Usage, &r.Cache
		err = rows.Scan(&r.ID, &at, &r.Conversation, &r.Agent, &r.Client, &r.API, &r.Model, &r.Upstream, &r.Status,
			&r.Policy, &r.Observe, &r.Passed, &r.Cut, &r.BytesIn, &r.BytesOut, &r.TokensOff, &r.Tokens, &u.Input,
			&u.CacheRead, &u.CacheWrite, &u.CacheWrite1h, &u.Output, &u.Reasoning, &r.Reads, &r.Repeats, &r.Dangling,
			&r.Trimmed, &r.Added, &c.Gap, &c.Lifetime, &c.Moment, &c.Alive, &c.Broke, &c.BrokeAt)
		r.Time = time.UnixMicro(at).UTC()
		return r, err
	})
}

// Trims implements record.Store.
func (s *Store) Trims(ctx context.Context, q record.Query) ([]record.Trim, error) {
	return list(ctx, s, trimColumns, "trims", q, func(rows *sql.Rows) (t record.Trim, err error) {
		var at int64
		var paths string
		if err := rows.Scan(&t.Request, &at, &t.Conversation, &t.CallID, &paths, &t.Reason, &t.Before, &t.After,
			&t.Observe); err != nil {
			return t, err
		}
		t.Time = time.UnixMicro(at).UTC()
		if paths != "[]" {
			err = json.Unmarshal([]byte(paths), &t.Paths)
		}
		return t, err
	})
}

// list reads the rows of a table that q chooses, oldest first.
func list[T any](ctx context.Context, s *Store, columns, table string, q record.Query,
	scan func(*sql.Rows) (T, error),
) ([]T, error) {
	condition, args := where(q)
	statement := "SELECT " + columns + " FROM " + table + " WHERE " + condition + " ORDER BY time_us DESC, seq DESC"
	if q.Limit > 0 {
		statement += " LIMIT ?"
		args = append(args, q.Limit)
	}
	out, err := each(ctx, s.db, statement, args, scan)
	slices.Reverse(out)
	return out, s.explain("read", err)
}

func each[T any](ctx context.Context, db *sql.DB, statement string, args []any,
	scan func(*sql.Rows) (T, error),
) (out []T, err error) {
	rows, err := db.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		row, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, rows.Err()
}
