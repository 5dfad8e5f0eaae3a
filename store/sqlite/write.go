package sqlite

import (
	"context"
	"database/sql"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/rows"
)

var (
	insertRequest = `INSERT INTO requests (` + rows.RequestColumns + `) VALUES (` + rows.Marks(rows.RequestColumns) + `)
		ON CONFLICT (id) DO NOTHING`
	insertTrim = `INSERT INTO trims (` + rows.TrimColumns + `) VALUES (` + rows.Marks(rows.TrimColumns) + `)
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
	if err := insert(ctx, tx, insertRequest, b.Requests, rows.RequestValues); err != nil {
		return err
	}
	if err := insert(ctx, tx, insertTrim, b.Trims, rows.TrimValues); err != nil {
		return err
	}
	if err := insert(ctx, tx, putTurn, b.Turns, rows.TurnValues); err != nil {
		return err
	}
	if err := insert(ctx, tx, putForm, b.Forms, rows.FormValues); err != nil {
		return err
	}
	if err := insert(ctx, tx, putPlace, b.Places, rows.PlaceValues); err != nil {
		return err
	}
	if err := insert(ctx, tx, putToolSet, b.ToolSets, rows.ToolSetValues); err != nil {
		return err
	}
	if err := insert(ctx, tx, putToolCalls, b.ToolCalls, rows.ToolCallsValues); err != nil {
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
