package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/record"
)

// Each agent has its own account. It lists the tools of a server together, and the most expensive ones first.
func TestToolsOf(t *testing.T) {
	request := func(conversation, client string, set uint64, status int) record.Request {
		return record.Request{Conversation: conversation, Client: client, ToolSet: set, Status: status}
	}
	requests := []record.Request{
		request("c1", "claude-code", 7, 200), request("c1", "claude-code", 7, 200), request("c1", "claude-code", 8, 200),
		request("c1", "claude-code", 7, 429), request("c1", "claude-code", 0, 200), request("c1", "claude-code", 99, 200),
		request("c2", "", 8, 200),
	}
	sets := []record.ToolSet{
		{ID: 7, Tools: []record.OfferedTool{{Name: "Read", Tokens: 100}, {Name: "mcp__notes__save", Tokens: 40}, {Name: "mcp__notes__find", Tokens: 60}}},
		{ID: 8, Tools: []record.OfferedTool{{Name: "Read", Tokens: 100}}},
	}
	calls := []record.ToolCalls{
		{Conversation: "c1", Tool: "Read", Calls: 5},
		{Conversation: "c2", Tool: "Read", Calls: 2},
		{Conversation: "c2", Tool: "mcp__notes__save", Calls: 3}, // the tool was never offered in this conversation
		{Conversation: "gone", Tool: "Read", Calls: 9},
	}
	got := ToolsOf(requests, sets, calls)
	want := &Tools{Agents: []toolAgent{
		{
			Agent: "claude-code", Requests: 3, Tokens: 500, Unused: 200,
			Servers: []toolServer{
				{Server: "", Tokens: 300, Calls: 5, Tools: []toolCost{{"Read", 3, 300, 5}}},
				{Server: "notes", Tokens: 200, Tools: []toolCost{{"mcp__notes__find", 2, 120, 0}, {"mcp__notes__save", 2, 80, 0}}},
			},
		},
		{
			Agent: "unknown agent", Requests: 1, Tokens: 100,
			Servers: []toolServer{{Tokens: 100, Calls: 2, Tools: []toolCost{{"Read", 1, 100, 2}}}},
		},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var out strings.Builder
	got.Print(&out, 30)
	for _, line := range []string{
		"  3 requests, 166 tokens of tools in each\n",
		"mcp__notes__*                                                       200       0\n",
		"  mcp__notes__find                             60        2          120       0\n",
		"of tools that were never called: 200 tokens, 40 %\n",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("%q is missing in\n%s", line, &out)
		}
	}
}
