package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/rows"
)

var (
	putToolSet   = rows.ToolSets.Insert() + ` ON CONFLICT (id) DO NOTHING`
	putToolCalls = rows.ToolCalls.Insert() + `
		ON CONFLICT (conversation, agent, tool) DO UPDATE SET time_us = excluded.time_us, calls = max(calls, excluded.calls)`
)

// Tools implements record.Store.
func (s *Store) Tools(ctx context.Context, since time.Time) ([]record.ToolSet, []record.ToolCalls, error) {
	condition := rows.Where(record.Query{From: since})
	calls, err := each(ctx, s.db, `SELECT `+rows.ToolCalls.Columns+` FROM tool_calls WHERE `+condition.String()+
		` ORDER BY time_us, conversation, agent, tool`, condition.Args, rows.ToolCalls.Read)
	if err != nil {
		return nil, nil, s.explain("read", err)
	}
	sets, err := each(ctx, s.db, `SELECT `+rows.ToolSets.Columns+` FROM tool_sets`, nil, rows.ToolSets.Read)
	return sets, calls, s.explain("read", err)
}

// pruneTools removes sets that no request names, and counts of calls from before a time.
func pruneTools(ctx context.Context, tx *sql.Tx, before int64) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM tool_calls WHERE time_us < ?`, before); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM tool_sets WHERE id NOT IN (SELECT tool_set FROM requests)`)
	return err
}
