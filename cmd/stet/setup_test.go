package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

var testEntry = map[string]any{"command": "stet", "args": []string{"mcp"}}

// What is in a client's configuration stays byte for byte, comments too.
func TestSetMember(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", "{\n  \"m\": {\n    \"stet\": 1\n  }\n}\n"},
		{"empty object", "{}", "{\n  \"m\": {\n    \"stet\": 1\n  }\n}"},
		{"empty with a comment", "{\n  // nothing yet\n}\n", "{\n  // nothing yet\n  \"m\": {\n    \"stet\": 1\n  }\n}\n"},
		{"others", "{\n\t\"a\": 1 // one\n}\n", "{\n\t\"a\": 1, // one\n\t\"m\": {\n\t  \"stet\": 1\n\t}\n}\n"},
		{"trailing comma", "{\n  \"a\": 1,\n}\n", "{\n  \"a\": 1,\n  \"m\": {\n    \"stet\": 1\n  },\n}\n"},
		{"on one line", `{"a": [1, 2]}`, "{\"a\": [1, 2],\n  \"m\": {\n    \"stet\": 1\n  }\n}"},
		{"there", `{"m": {"x": {}, "stet": {"old": true} /* mine */}}`, `{"m": {"x": {}, "stet": 1 /* mine */}}`},
		{"beside", "{\n  \"m\": {\n    \"x\": {} /* } */\n  }, \"b\": \"{\"\n}\n", "{\n  \"m\": {\n    \"x\": {}, /* } */\n    \"stet\": 1\n  }, \"b\": \"{\"\n}\n"},
		{"CRLF", "{\r\n  \"m\": {\r\n    \"x\": 2\r\n  }\r\n}\r\n", "{\r\n  \"m\": {\r\n    \"x\": 2,\n    \"stet\": 1\r\n  }\r\n}\r\n"},
	} {
		got, err := setMember([]byte(tt.text), []string{"m", "stet"}, 1)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %v\n%q, want\n%q", tt.name, err, got, tt.want)
		}
	}
	for _, bad := range []string{"[]", "{", `{"m": 1}`, `{"m": []}`, "null"} {
		if got, err := setMember([]byte(bad), []string{"m", "stet"}, 1); err == nil {
			t.Errorf("%s became %s", bad, got)
		}
	}
}

// An entry that is there keeps what stet does not speak of.
func TestAddMemberKeepsTheRest(t *testing.T) {
	got, err := addMember([]byte(`{"m": {"stet": {"env": {"A": "b"}, "command": "old"}}}`), []string{"m", "stet"}, testEntry)
	if err != nil || !strings.Contains(string(got), `"env": {"A": "b"}, "command": "stet"`) || !strings.Contains(string(got), `"args"`) {
		t.Errorf("%v: %s", err, got)
	}
}

// FuzzSetMember: what was there is there, and the entry is; or it is refused.
func FuzzSetMember(f *testing.F) {
	for _, s := range []string{`{"a":1}`, "{ // x\n}", `{"m":{"b":[{},"}"],},/* */}`, "{\"a\":1 /* a\n */}", `{"m":{"stet":{}}}`, "{\n\"a\":\"\\\"\"\n,}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := addMember([]byte(s), []string{"m", "stet"}, testEntry)
		if err != nil {
			return
		}
		var before, after map[string]any
		if err := json.Unmarshal(withoutComments(got), &after); err != nil {
			t.Fatalf("%q became %q: %v", s, got, err)
		}
		_ = json.Unmarshal(withoutComments([]byte(s)), &before) // nothing is an empty object
		stet, _ := object(after, "m")["stet"].(map[string]any)
		if stet["command"] != "stet" {
			t.Fatalf("%q became %q", s, got)
		}
		delete(after, "m")
		delete(before, "m")
		if len(before)+len(after) > 0 && !reflect.DeepEqual(before, after) {
			t.Fatalf("%q became %q", s, got)
		}
		again, err := addMember(got, []string{"m", "stet"}, testEntry)
		if err != nil || !reflect.DeepEqual(compact(t, again), compact(t, got)) {
			t.Fatalf("%q, and again %q: %v", got, again, err)
		}
	})
}

func compact(t *testing.T, text []byte) (v any) {
	if err := json.Unmarshal(withoutComments(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAddTable(t *testing.T) {
	text := "model = \"m\" # mine\n[mcp_servers.other]\ncommand = \"x\""
	got, err := addTable([]byte(text), []string{"mcp_servers", "stet"}, slowServer("/bin/stet"))
	if err != nil || !strings.HasPrefix(string(got), text+"\n\n[mcp_servers.stet]\n") {
		t.Fatalf("%v: %s", err, got)
	}
	var v map[string]any
	if err := toml.Unmarshal(got, &v); err != nil {
		t.Fatal(err)
	}
	again, err := addTable(got, []string{"mcp_servers", "stet"}, slowServer("/bin/stet"))
	if err != nil || string(again) != string(got) {
		t.Errorf("again: %v: %s", err, again)
	}
	for _, bad := range []string{"mcp_servers = 1", "mcp_servers = {}", "[mcp_servers.stet]\ncommand = \"other\"", "x = "} {
		if got, err := addTable([]byte(bad), []string{"mcp_servers", "stet"}, slowServer("s")); err == nil {
			t.Errorf("%s became %s", bad, got)
		}
	}
}
