package jsonc

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The content of a configuration stays byte for byte, including comments.
func TestAdd(t *testing.T) {
	const added = "\"m\": {\n    \"stet\": {\n      \"a\": 1\n    }\n  }"
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", "{\n  " + added + "\n}\n"},
		{"empty object", "{}", "{\n  " + added + "\n}"},
		{"empty with a comment", "{\n  // nothing yet\n}\n", "{\n  // nothing yet\n  " + added + "\n}\n"},
		{"others", "{\n  \"a\": 1 // one\n}\n", "{\n  \"a\": 1, // one\n  " + added + "\n}\n"},
		{"tabs", "{\n\t\"a\": 1\n}\n", "{\n\t\"a\": 1,\n\t\"m\": {\n\t  \"stet\": {\n\t    \"a\": 1\n\t  }\n\t}\n}\n"},
		{"trailing comma", "{\n  \"a\": 1,\n}\n", "{\n  \"a\": 1,\n  " + added + ",\n}\n"},
		{"on one line", `{"a": [1, 2]}`, "{\"a\": [1, 2],\n  " + added + "\n}"},
		{"a comment over lines", "{\n  \"a\": 1 /* o\nne */\n}\n", "{\n  \"a\": 1, /* o\nne */\n  " + added + "\n}\n"},
		{
			"beside", "{\n  \"m\": {\n    \"x\": {} /* } */\n  }, \"b\": \"{\"\n}\n",
			"{\n  \"m\": {\n    \"x\": {}, /* } */\n    \"stet\": {\n      \"a\": 1\n    }\n  }, \"b\": \"{\"\n}\n",
		},
		{
			"CRLF", "{\r\n  \"m\": {\r\n    \"x\": 2\r\n  }\r\n}\r\n",
			"{\r\n  \"m\": {\r\n    \"x\": 2,\r\n    \"stet\": {\r\n      \"a\": 1\r\n    }\r\n  }\r\n}\r\n",
		},
	} {
		got, err := Add([]byte(tt.text), []string{"m", "stet"}, map[string]any{"a": 1})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	for _, bad := range []string{"[]", "{", `{"m": 1}`, `{"m": []}`, "null", `{"m": {"stet": null}}`, `{"m": {}, "m": {}}`} {
		if got, err := Add([]byte(bad), []string{"m", "stet"}, map[string]any{"a": 1}); err == nil {
			t.Errorf("%s became %s", bad, got)
		}
	}
}

var testEntry = map[string]any{"command": "stet", "args": []string{"mcp"}}

// An existing entry is not changed: missing members are added, and a difference is an error that names it.
func TestAddToAnEntry(t *testing.T) {
	path := []string{"m", "stet"}
	for text, want := range map[string]string{
		`{"m": {"stet": {"env": {"A": "b"}, "command": "stet"}}}`:                  `{"m": {"stet": {"env": {"A": "b"}, "command": "stet",`,
		`{"m": {"stet": {"args": ["mcp"], "command": "stet", "env": {"A": "b"}}}}`: `{"m": {"stet": {"args": ["mcp"], "command": "stet", "env": {"A": "b"}}}}`,
		`{"m": {"stet": {}}}`: "{\"m\": {\"stet\": {\n  \"args\": [\n    \"mcp\"\n  ],\n  \"command\": \"stet\",\n  \"env\": {}\n}}}",
		"{\r\n\"m\": {\"stet\": {\r\n  \"command\": \"stet\"\r\n}}}": "{\r\n\"m\": {\"stet\": {\r\n  \"command\": \"stet\",\r\n  \"args\": [\r\n    \"mcp\"\r\n  ]",
	} {
		entry := map[string]any{"command": "stet", "args": []string{"mcp"}, "env": map[string]string{}}
		got, err := Add([]byte(text), path, entry)
		if err != nil || !strings.HasPrefix(string(got), want) || !strings.Contains(string(got), `"args"`) {
			t.Errorf("%s: %v: %s", text, err, got)
		}
	}
	for text, want := range map[string]string{
		`{"m": {"stet": {"command": "/old/stet"}}}`:                          `m.stet is there already: its "command" is "/old/stet" and not "stet"`,
		`{"m": {"stet": {"command": "stet", "args": ["mcp", "--dedupe"]}}}`:  `its "args" is ["mcp","--dedupe"] and not ["mcp"]`,
		`{"m": {"stet": {"command": null}}}`:                                 `its "command" is null`,
		`{"m": {"stet": "off"}}`:                                             "it holds no settings",
		`{"m": {"stet": []}}`:                                                "it holds no settings",
		`{"m": {"stet": {"command": "stet"}, "stet": {"command": "other"}}}`: "m.stet is there twice",
	} {
		if got, err := Add([]byte(text), path, testEntry); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v: %s", text, err, got)
		}
	}
}

func TestUnmarshal(t *testing.T) {
	var got map[string]any
	if err := Unmarshal([]byte("\ufeff"+`{"a": "// no comment", "b": [1, 2,], /* x */ "c": "\"*/"}`), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"a": "// no comment", "b": []any{1.0, 2.0}, "c": `"*/`}, got); diff != "" {
		t.Error(diff)
	}
	if err := Unmarshal([]byte("{"), &got); err == nil {
		t.Error("an open object passed")
	}
}

// FuzzAdd: either the text is refused, or the result has its old content and the entry.
func FuzzAdd(f *testing.F) {
	for _, s := range []string{`{"a":1}`, "{ // x\n}", `{"m":{"b":[{},"}"],},/* */}`, "{\"a\":1 /* a\n */}", `{"m":{"stet":{}}}`, "{\n\"a\":\"\\\"\"\n,}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := Add([]byte(s), []string{"m", "stet"}, testEntry)
		if err != nil {
			return
		}
		before, after := map[string]any{}, map[string]any{}
		_ = Unmarshal([]byte(s), &before) // an empty text is an empty object
		if err := Unmarshal(got, &after); err != nil {
			t.Fatalf("%q became %q: %v", s, got, err)
		}
		m, _ := after["m"].(map[string]any)
		if stet, _ := m["stet"].(map[string]any); stet["command"] != "stet" {
			t.Fatalf("%q became %q", s, got)
		}
		again, err := Add(got, []string{"m", "stet"}, testEntry)
		if err != nil || string(again) != string(got) {
			t.Fatalf("%q, and again %q: %v", got, again, err)
		}
		delete(m, "stet")
		if old, _ := before["m"].(map[string]any); old != nil {
			delete(old, "stet")
		}
		if len(m) == 0 {
			delete(after, "m")
			delete(before, "m")
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatalf("%q became %q: %s", s, got, diff)
		}
	})
}

// FuzzUnmarshal: JSON without comments has the value that encoding/json gives it.
func FuzzUnmarshal(f *testing.F) {
	for _, s := range []string{`{"a": "// no comment", "b": [1, 2,], /* x */ "c": "\"*/"}`, `"\`, `/*`, `//`, `[,]`, `{"a":"/*"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var before, after any
		if json.Unmarshal([]byte(s), &before) != nil {
			return
		}
		if err := Unmarshal([]byte(s), &after); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatal(diff)
		}
	})
}
