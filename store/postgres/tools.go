package postgres

import (
	"context"
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/rows"
)

var (
	putToolSet   = numbered(rows.ToolSets.Insert()) + " ON CONFLICT (id) DO NOTHING"
	putToolCalls = numbered(rows.ToolCalls.Insert()) + `
		ON CONFLICT (conversation, agent, tool) DO UPDATE SET time_us = excluded.time_us, calls = greatest(tool_calls.calls, excluded.calls)`
)

// Tools implements record.Store.
func (s *Store) Tools(ctx context.Context, since time.Time) ([]record.ToolSet, []record.ToolCalls, error) {
	condition := rows.Where(record.Query{From: since})
	calls, err := fetch(ctx, s.database, rows.ToolCalls.Read, "SELECT "+rows.ToolCalls.Columns+" FROM tool_calls WHERE "+condition.String()+
		` ORDER BY time_us, conversation COLLATE "C", agent COLLATE "C", tool COLLATE "C"`, condition.Args...)
	if err != nil {
		return nil, nil, s.explain("read", err)
	}
	sets, err := fetch(ctx, s.database, rows.ToolSets.Read, "SELECT "+rows.ToolSets.Columns+" FROM tool_sets")
	return sets, calls, s.explain("read", err)
}
