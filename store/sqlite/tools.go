package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/rows"
)

var (
	putToolSet   = `INSERT INTO tool_sets (` + rows.ToolSetColumns + `) VALUES (` + rows.Marks(rows.ToolSetColumns) + `) ON CONFLICT (id) DO NOTHING`
	putToolCalls = `INSERT INTO tool_calls (` + rows.ToolCallsColumns + `) VALUES (` + rows.Marks(rows.ToolCallsColumns) + `)
		ON CONFLICT (conversation, agent, tool) DO UPDATE SET time_us = excluded.time_us, calls = max(calls, excluded.calls)`
)

// Tools implements record.Store.
func (s *Store) Tools(ctx context.Context, since time.Time) ([]record.ToolSet, []record.ToolCalls, error) {
	condition := rows.Where(record.Query{From: since})
	calls, err := each(ctx, s.db, `SELECT `+rows.ToolCallsColumns+` FROM tool_calls WHERE `+condition.String()+
		` ORDER BY time_us, conversation, agent, tool`, condition.Args, rows.ScanToolCalls)
	if err != nil {
		return nil, nil, s.explain("read", err)
	}
	sets, err := each(ctx, s.db, `SELECT `+rows.ToolSetColumns+` FROM tool_sets`, nil, rows.ScanToolSet)
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
