package proxy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/record"
)

// The record says which tools the requests of a conversation offer, with only names and sizes, and how often each was called.
func TestToolUse(t *testing.T) {
	const tools = `[{"name":"Read","description":"Reads a file.","input_schema":{"type":"object"}},` +
		`{"name":"mcp__notes__save","defer_loading":true,"input_schema":{"type":"object"}}]`
	call := func(name, id string) string {
		return `,{"role":"assistant","content":[{"type":"tool_use","id":"` + id + `","name":"` + name + `","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + id + `","content":"ok"}]}`
	}
	var up recorder
	r := newRig(t, &up)
	body := `{"model":"model-a","max_tokens":9,"tools":` + tools + `,"messages":[{"role":"user","content":"look"}`
	for _, turn := range []string{"", call("Read", "a"), call("Read", "b") + call("mcp__notes__save", "c"), ""} {
		body += turn
		if status, answer := r.post("/v1/messages", body+`]}`, "X-Claude-Code-Session-Id", "s1"); status != 200 {
			t.Fatal(status, answer)
		}
	}
	rows := r.rows()
	sets, calls, err := r.store.Tools(t.Context(), time.Time{})
	if err != nil || len(sets) != 1 {
		t.Fatal(sets, err)
	}
	for i := range rows {
		if rows[i].ToolSet != sets[0].ID || rows[i].ToolSet == 0 {
			t.Errorf("request %d has the tools %d of %v", i, rows[i].ToolSet, sets)
		}
	}
	if size := sets[0].Tools[0].Tokens; size < 5 || size > 50 {
		t.Errorf("Read takes %d tokens", size)
	}
	sets[0].Tools[0].Tokens = 1
	want := []record.OfferedTool{{Name: "Read", Tokens: 1}, {Name: "mcp__notes__save"}}
	if diff := cmp.Diff(want, sets[0].Tools); diff != "" {
		t.Error(diff)
	}
	for i := range calls {
		calls[i].Time = time.Time{}
		if !strings.Contains(calls[i].Conversation, "s1") {
			t.Errorf("calls of %q", calls[i].Conversation)
		}
		calls[i].Conversation = ""
	}
	if diff := cmp.Diff([]record.ToolCalls{{Tool: "Read", Calls: 2}, {Tool: "mcp__notes__save", Calls: 1}}, calls); diff != "" {
		t.Error(diff)
	}
}
