package agents

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm/llmtest"
)

func capture(t *testing.T, headers map[string]string, body string) *Capture {
	t.Helper()
	q := llmtest.Request{Method: "POST", Path: "/v1/messages", Header: http.Header{}, Body: []byte(body), Wire: "messages"}
	for name, value := range headers {
		q.Header.Set(name, value)
	}
	c, err := captureOf(q)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// SAME-1: every header, beta, tool and key of the body is compared. What differs between two direct requests does not count.
func TestCompare(t *testing.T) {
	body := func(id, more string) string {
		return `{"model":"m","metadata":{"id":"` + id + `"},"system":[{"type":"text","text":"a"},{"type":"text","text":"b","cache_control":{"type":"ephemeral","scope":"global"}}],` +
			`"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"Read","input_schema":{"type":"object"}},{"name":"Find","defer_loading":true}]` + more + `}`
	}
	direct := capture(t, map[string]string{"Anthropic-Beta": "one-2026, two-2026", "X-Id": "1", "X-Kept": "v", "Connection": "keep-alive"}, body("1", `,"diagnostics":{"a":1}`))
	other := capture(t, map[string]string{"Anthropic-Beta": "one-2026,two-2026", "X-Id": "2", "X-Kept": "v", "Connection": "keep-alive"}, body("2", `,"diagnostics":{"a":1}`))
	if direct.Tools != 2 {
		t.Errorf("%d tools", direct.Tools)
	}
	if got := Compare(direct, other, other, "claude", "2.1.332", ByBaseURL); len(got) > 0 {
		t.Errorf("the same request differs: %+v", got)
	}
	behind := capture(t, map[string]string{"Anthropic-Beta": "one-2026", "X-Id": "3", "X-New": "n"},
		`{"model":"m","metadata":{"id":"3"},"system":[{"type":"text","text":"a\n\nb","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":"hello"}],`+
			`"tools":[{"name":"Read","input_schema":{"type":"array"}},{"name":"mcp__x"}]}`)
	var said []string
	for _, d := range Compare(direct, other, behind, "claude", "2.1.332", ByBaseURL) {
		known := ""
		if d.Reason != "" {
			known = ", known"
		}
		said = append(said, d.How+" "+d.What+known)
	}
	want := []string{
		"missing beta two-2026", "missing body diagnostics, known", "changed body messages.0.content", "missing body system.cache_control.0.scope, known",
		"missing header connection, known", "missing header x-kept", "added header x-new",
		"missing tool Find", "changed tool Read.input_schema.type", "added tool mcp__x",
	}
	if !slices.Equal(said, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
	// Tools that go are known for old versions alone, and only at a base URL without the variable.
	for _, test := range []struct {
		version, way string
		known        bool
	}{{"2.1.300", ByBaseURL, true}, {"2.1.300", ByVariables, false}, {"2.1.304", ByBaseURL, false}, {"", ByBaseURL, false}} {
		d := Difference{What: "tool Find", How: "missing"}
		if d.explain("claude", test.version, test.way); (d.Reason != "") != test.known {
			t.Errorf("%+v: %+v", test, d)
		}
	}
}

// The tools of all wire formats are found by their names.
func TestToolsOfFormats(t *testing.T) {
	for body, want := range map[string]string{
		`{"tools":[{"type":"function","function":{"name":"read"}},{"type":"function","function":{"name":"edit"}}]}`:                               "edit read",
		`{"tools":[{"functionDeclarations":[{"name":"read"},{"name":"edit"}]}]}`:                                                                  "edit read",
		`{"tools":[{"type":"web_search"},{"type":"function","name":"read"}]}`:                                                                     "read web_search",
		`{"input":[{"type":"additional_tools","tools":[{"type":"namespace","name":"f","tools":[{"type":"function","name":"x"}]}]}],"tools":null}`: "f.x",
	} {
		c := capture(t, nil, body)
		var names []string
		for name := range c.parts["tool"].(map[string]any) {
			names = append(names, name)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != want || c.Tools != len(names) {
			t.Errorf("%s: %q, %d tools", body, got, c.Tools)
		}
	}
}
