package rows

import (
	"encoding/json"

	"github.com/stet-dev/stet/record"
)

// ToolSetColumns are the columns of tool_sets, in the order of ToolSetValues.
const ToolSetColumns = `id, tools`

// ToolSetValues are the values of ToolSetColumns.
func ToolSetValues(s record.ToolSet) []any {
	tools, err := json.Marshal(s.Tools)
	if err != nil || s.Tools == nil {
		tools = []byte("[]")
	}
	return []any{int64(s.ID), string(tools)}
}

// ScanToolSet reads ToolSetColumns.
func ScanToolSet(row Row) (s record.ToolSet, err error) {
	var id int64
	var tools string
	if err := row.Scan(&id, &tools); err != nil {
		return s, err
	}
	s.ID = uint64(id)
	return s, json.Unmarshal([]byte(tools), &s.Tools)
}

// ToolCallsColumns are the columns of tool_calls, in the order of ToolCallsValues.
const ToolCallsColumns = `conversation, agent, tool, time_us, calls`

// ToolCallsValues are the values of ToolCallsColumns.
func ToolCallsValues(c record.ToolCalls) []any {
	return []any{c.Conversation, c.Agent, c.Tool, c.Time.UnixMicro(), c.Calls}
}

// ScanToolCalls reads ToolCallsColumns.
func ScanToolCalls(row Row) (c record.ToolCalls, err error) {
	var micro int64
	err = row.Scan(&c.Conversation, &c.Agent, &c.Tool, &micro, &c.Calls)
	c.Time = at(micro)
	return c, err
}
