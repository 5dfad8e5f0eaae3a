package anthropic

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The option to clear results is added to the request's own context management. If the request already clears results itself, the
// option cannot be added.
func TestAppendClearing(t *testing.T) {
	const edit = `{"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":4},"keep":{"type":"tool_uses","value":9}}`
	for body, want := range map[string]string{
		`{"model":"m" }`: `{"model":"m" ,"context_management":{"edits":[` + edit + `]}}`,
		`{"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},"model":"m"}`: `{"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"},` + edit + `]},"model":"m"}`,
		`{"context_management":{"edits":[]}}`:                                    `{"context_management":{"edits":[` + edit + `]}}`,
		`{"context_management":{}}`:                                              `{"context_management":{"edits":[` + edit + `]}}`,
		`{"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}}`: "",
		`{"context_management":null}`:                                            "",
		`{"context_management":{"edits":{}}}`:                                    "",
		`{"context_management":[]}`:                                              "",
		`[]`:                                                                     "",
		`{"model"`:                                                               "",
	} {
		got, err := AppendClearing(nil, []byte(body), 4, 9)
		if diff := cmp.Diff(want, string(got)); diff != "" || (err == nil) != (want != "") || want != "" && !json.Valid(got) {
			t.Errorf("%s: %v %s", body, err, diff)
		}
	}
	h := http.Header{"Anthropic-Beta": {"one, two"}}
	for range 2 {
		AllowClearing(h)
	}
	if diff := cmp.Diff([]string{"one, two,context-management-2025-06-27"}, h.Values("Anthropic-Beta")); diff != "" {
		t.Error(diff)
	}
}

// Tools that the client runs are told from those that the provider runs.
func TestOffersServerTools(t *testing.T) {
	for body, want := range map[string]bool{
		`{}`: false, `{"tools":null,"mcp_servers":[]}`: false, `{"tools":[{"name":"Read","input_schema":{}},{"type":"custom","name":"x"}]}`: false,
		`{"tools":[{"type":"bash_20250124","name":"bash"},{"type":"text_editor_20250728"},{"type":"memory_20250818"},{"type":"computer_20251124"}]}`: false,
		`{"tools":[{"name":"Read"},{"type":"web_search_20260209","name":"web_search"}]}`:                                                             true, `{"tools":[{"type":"mcp_toolset","mcp_server_name":"x"}]}`: true,
		`{"messages":[],"mcp_servers":[{"type":"url","name":"x"}]}`: true, `{"tools":[`: false, `{"tools":{}}`: false,
	} {
		if got := OffersServerTools([]byte(body)); got != want {
			t.Errorf("%s: %v", body, got)
		}
	}
}

// Cleared returns the number of calls whose results were cleared, as reported in the answer.
func TestCleared(t *testing.T) {
	const applied = `"context_management":{"applied_edits":[{"type":"clear_thinking_20251015","cleared_tool_uses":9},{"type":"clear_tool_uses_20250919","cleared_tool_uses":4,"cleared_input_tokens":900}]}`
	for name, test := range map[string]struct {
		kind, text string
		want       int
	}{
		"a document": {"application/json", `{"type":"message","content":[],` + applied + `}`, 4},
		"a stream":   {"text/event-stream", "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}," + applied + "}\n\n", 4},
		"nothing":    {"application/json", `{"type":"message","content":[],"context_management":null}`, 0},
		"broken":     {"application/json", `{"type":"message","content":[],"context_management":{"applied_edits":[1,{"type":"clear_tool_uses_20250919","cleared_tool_uses":"4"}]}}`, 0},
	} {
		m := Messages{}.NewMeter(test.kind)
		m.Write([]byte(test.text))
		if got := m.Reading().Cleared; got != test.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}
