package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"strings"

	"github.com/stet-dev/stet/record"
)

// requestColumns are the columns of requests, in the order of requestFields.
const requestColumns = `id, time_us, conversation, agent, client, api, model, upstream, status, policy,
	observe, passed, cut, bytes_in, bytes_out, tokens_off, tokens, input, cache_read, cache_write,
	cache_write_1h, output, reasoning, reads, repeats, dangling, trimmed, added_ns,
	gap_ns, lifetime_ns, moment, alive, broke, broke_at`

const trimColumns = `request, time_us, conversation, call_id, paths, reason, before, after, observe`

var (
	insertRequest = `INSERT INTO requests (` + requestColumns + `) VALUES (` + marks(requestColumns) + `)
		ON CONFLICT (id) DO NOTHING`
	insertTrim = `INSERT INTO trims (` + trimColumns + `) VALUES (` + marks(trimColumns) + `)
		ON CONFLICT (request, call_id, reason) DO NOTHING`
)

// marks is a question mark for each of the columns.
func marks(columns string) string {
	return "?" + strings.Repeat(", ?", strings.Count(columns, ","))
}

// Append implements record.Store. The batch is one transaction.
func (s *Store) Append(ctx context.Context, b record.Batch) error {
	if b.Empty() && !s.closed.Load() {
		return ctx.Err()
	}
	return s.explain("append to", s.append(ctx, b))
}

func (s *Store) append(ctx context.Context, b record.Batch) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing is left to do after a commit
	if err := insert(ctx, tx, insertRequest, b.Requests, requestValues); err != nil {
		return err
	}
	if err := insert(ctx, tx, insertTrim, b.Trims, trimValues); err != nil {
		return err
	}
	if err := insert(ctx, tx, putTurn, b.Turns, turnValues); err != nil {
		return err
	}
	if err := insert(ctx, tx, putForm, b.Forms, formValues); err != nil {
		return err
	}
	if err := insert(ctx, tx, putPlace, b.Places, placeValues); err != nil {
		return err
	}
	return tx.Commit()
}

func insert[T any](ctx context.Context, tx *sql.Tx, statement string, rows []T, values func(T) []any) error {
	if len(rows) == 0 {
		return nil
	}
	st, err := tx.PrepareContext(ctx, statement)
	if err != nil {
		return err
	}
	defer st.Close()
	for _, row := range rows {
		if _, err := st.ExecContext(ctx, values(row)...); err != nil {
			return err
		}
	}
	return nil
}

func requestValues(r record.Request) []any {
	u, c := r.Usage, r.Cache
	return []any{
		r.ID, r.Time.UnixMicro(), r.Conversation, r.Agent, r.Client, r.API, r.Model, r.Upstream, r.Status, r.Policy,
		r.Observe, r.Passed, r.Cut, r.BytesIn, r.BytesOut, r.TokensOff, r.Tokens, u.Input, u.CacheRead, u.CacheWrite,
		u.CacheWrite1h, u.Output, u.Reasoning, r.Reads, r.Repeats, r.Dangling, r.Trimmed, int64(r.Added),
		int64(c.Gap), int64(c.Lifetime), c.Moment, c.Alive, c.Broke, c.BrokeAt,
	}
}

func trimValues(t record.Trim) []any {
	return []any{
		t.Request, t.Time.UnixMicro(), t.Conversation, t.CallID, texts(t.Paths), t.Reason, t.Before, t.After, t.Observe,
	}
}

// texts is a column that holds several.
func texts(list []string) string {
	b, err := json.Marshal(list)
	if err != nil || len(list) == 0 {
		return "[]"
	}
	return string(b)
}
