package rpclines

import (
	"encoding/json"
	"strings"
	"testing"
)

// For a long request, read in any parts, longLine finds the same id as decoding does. For any other line, the result is nil or an
// id.
func FuzzLongLine(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":7,"method":"x","params":{"id":8}}`, `{"id":"a\"\\","method":"x"}`, `{"i":[1,{"id":2}],"id":-3,"method":""}`,
		`{"id" : 1 , "method" : "x" , "id" : null}`, `]{"id":1,"method":"x"}`, `{"id":1e5,"method":[]}`, `{"id`, `{:,`, `{"method":"x","id":1}}`,
	} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, line string, at int) {
		at = max(0, min(at, len(line)))
		var l longLine
		l.read([]byte(line[:at]))
		l.read([]byte(line[at:]))
		got := string(l.request())
		if got != "" && (!json.Valid([]byte(got)) || !isID([]byte(got))) {
			t.Fatalf("%q has id %q", line, got)
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method *string         `json:"method"`
		}
		var names map[string]json.RawMessage
		if json.Unmarshal([]byte(line), &names) != nil || strings.Contains(line, `\u`) || strings.Count(strings.ToLower(line), `"id"`) != 1 ||
			strings.Count(strings.ToLower(line), `"method"`) != 1 || json.Unmarshal([]byte(line), &m) != nil || len(names["id"]) > 100 {
			return
		}
		want := ""
		if names["method"] != nil && isID(names["id"]) {
			want = string(names["id"])
		}
		if got != want {
			t.Errorf("%q has id %s, not %s", line, got, want)
		}
	})
}
