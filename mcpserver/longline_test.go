package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"
)

// A request that is too long is answered under its id, wherever in it that is.
func TestLongRequest(t *testing.T) {
	s := newServer(t, Config{Caller: newNotes().handler, MaxMessage: 1 << 10})
	long := `"params":{"id":8,"x":["` + strings.Repeat(`{\"id\":9,\\`, 20_000) + `"]}`
	for line, id := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"method":"tools/call",` + long + `}`:      `7`,
		`{"method":"tools/call",` + long + `,"jsonrpc":"2.0","id":"a"}`:    `"a"`,
		`{"jsonrpc":"2.0","method":"x", "id" : "\u00e9\"}" ,` + long + `}`: `"\u00e9\"}"`,
		`{"jsonrpc":"2.0","id":7,"result":{},` + long + `}`:                `null`, // it waits for no answer
		`{"jsonrpc":"2.0","method":"notifications/x",` + long + `}`:        `null`,
		`{"id":{"a":1},"method":"x",` + long + `}`:                         `null`,
		`{"id":"` + strings.Repeat("i", 5000) + `","method":"x"}`:          `null`,
		`{"id":"\q","method":"x",` + long + `}`:                            `null`,
		`[{"id":7,"method":"x",` + long + `}]`:                             `null`,
	} {
		answers := exchange(t, s, initialize, line, `{"jsonrpc":"2.0","id":6,"method":"ping"}`)
		all := strings.Join(answers, "\n")
		if len(answers) != 3 || !strings.Contains(all, `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-32600`) || !strings.Contains(all, `"id":6,"result"`) {
			t.Errorf("%.60s: %q", line, answers)
		}
	}
}

// What is found of a long request is what decoding it gives, in whatever parts it is
// read; of any other line, it is an id.
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
		got := string(l.id())
		if !json.Valid([]byte(got)) || got != "null" && !isID([]byte(got)) {
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
		want := "null"
		if names["method"] != nil && isID(names["id"]) {
			want = string(names["id"])
		}
		if got != want {
			t.Errorf("%q has id %s, not %s", line, got, want)
		}
	})
}
