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

// sums are the columns that make record.Totals, in the order of sumFields, all
// but the number of conversations.
const sums = `count(*), coalesce(sum(observe), 0), coalesce(sum(status = 0 OR status >= 400), 0),
	coalesce(sum(passed <> ''), 0), coalesce(sum(cut), 0), coalesce(sum(bytes_in), 0), coalesce(sum(bytes_out), 0),
	coalesce(sum(tokens_off), 0), coalesce(sum(tokens), 0), coalesce(sum(input), 0), coalesce(sum(cache_read), 0),
	coalesce(sum(cache_write), 0), coalesce(sum(cache_write_1h), 0), coalesce(sum(output), 0),
	coalesce(sum(reasoning), 0), coalesce(sum(reads), 0), coalesce(sum(repeats), 0), coalesce(sum(dangling), 0),
	coalesce(sum(trimmed), 0), coalesce(sum(added_ns), 0)`

func sumFields(t *record.Totals) []any {
	return []any{
		&t.Requests, &t.Observed, &t.Errors, &t.Passed, &t.Cut, &t.BytesIn, &t.BytesOut, &t.TokensOff, &t.Tokens,
		&t.Usage.Input, &t.Usage.CacheRead, &t.Usage.CacheWrite, &t.Usage.CacheWrite1h, &t.Usage.Output,
		&t.Usage.Reasoning, &t.Reads, &t.Repeats, &t.Dangling, &t.Trimmed, &t.Added,
	}
}

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
		u := &r.Usage
		err = rows.Scan(&r.ID, &at, &r.Conversation, &r.Agent, &r.Client, &r.API, &r.Model, &r.Upstream, &r.Status,
			&r.Policy, &r.Observe, &r.Passed, &r.Cut, &r.BytesIn, &r.BytesOut, &r.TokensOff, &r.Tokens, &u.Input,
			&u.CacheRead, &u.CacheWrite, &u.CacheWrite1h, &u.Output, &u.Reasoning, &r.Reads, &r.Repeats, &r.Dangling,
			&r.Trimmed, &r.Added)
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

// Totals implements record.Store.
func (s *Store) Totals(ctx context.Context, q record.Query) (t record.Totals, err error) {
	condition, args := where(q)
	statement := "SELECT " + sums + ", count(DISTINCT conversation) FROM requests WHERE " + condition + " AND api <> ?"
	args = append(args, record.CountTokens)
	err = s.db.QueryRowContext(ctx, statement, args...).Scan(append(sumFields(&t), &t.Conversations)...)
	return t, s.explain("read", err)
}

// Conversations implements record.Store.
func (s *Store) Conversations(ctx context.Context, q record.Query) ([]record.Conversation, error) {
	condition, args := where(q)
	statement := `WITH chosen AS (SELECT * FROM requests WHERE ` + condition + ` AND api <> ?),
		newest AS (
			SELECT *, row_number() OVER (PARTITION BY conversation ORDER BY time_us DESC, seq DESC) AS place FROM chosen),
		sum AS (SELECT conversation AS name, min(time_us) AS first, max(time_us) AS last, ` + sums + `
			FROM chosen GROUP BY conversation)
		SELECT client, api, model, upstream, policy, sum.*
		FROM sum JOIN newest ON conversation = name AND place = 1 ORDER BY last, name`
	args = append(args, record.CountTokens)
	out, err := each(ctx, s.db, statement, args, func(rows *sql.Rows) (c record.Conversation, err error) {
		var first, last int64
		fields := []any{&c.Client, &c.API, &c.Model, &c.Upstream, &c.Policy, &c.ID, &first, &last}
		err = rows.Scan(append(fields, sumFields(&c.Totals)...)...)
		c.First, c.Last = time.UnixMicro(first).UTC(), time.UnixMicro(last).UTC()
		c.Totals.Conversations = 1
		return c, err
	})
	return out, s.explain("read", err)
}
