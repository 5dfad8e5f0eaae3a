package sqlite

import (
	"context"
	"database/sql"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/rows"
)

var (
	insertRequest = rows.Requests.Insert() + `
		ON CONFLICT (id) DO NOTHING`
	insertTrim = rows.Trims.Insert() + `
		ON CONFLICT (request, call_id, reason) DO NOTHING`
)

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
	defer func() { _ = tx.Rollback() }() // fails after a commit, which is not an error
	if err := insert(ctx, tx, insertRequest, b.Requests, rows.Requests.Values); err != nil {
		return err
	}
	if err := insert(ctx, tx, insertTrim, b.Trims, rows.Trims.Values); err != nil {
		return err
	}
	if err := insert(ctx, tx, putTurn, b.Turns, rows.Turns.Values); err != nil {
		return err
	}
	if err := insert(ctx, tx, putForm, b.Forms, rows.Forms.Values); err != nil {
		return err
	}
	if err := insert(ctx, tx, putPlace, b.Places, rows.Places.Values); err != nil {
		return err
	}
	if err := insert(ctx, tx, putToolSet, b.ToolSets, rows.ToolSets.Values); err != nil {
		return err
	}
	if err := insert(ctx, tx, putToolCalls, b.ToolCalls, rows.ToolCalls.Values); err != nil {
		return err
	}
	return tx.Commit()
}

func insert[T any](ctx context.Context, tx *sql.Tx, statement string, list []T, values func(T) []any) error {
	if len(list) == 0 {
		return nil
	}
	st, err := tx.PrepareContext(ctx, statement)
	if err != nil {
		return err
	}
	defer st.Close()
	for _, row := range list {
		if _, err := st.ExecContext(ctx, values(row)...); err != nil {
			return err
		}
	}
	return nil
}
