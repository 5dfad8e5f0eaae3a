package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
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
		{"beside", "{\n  \"m\": {\n    \"x\": {} /* } */\n  }, \"b\": \"{\"\n}\n", "{\n  \"m\": {\n    \"x\": {}, /* } */\n    \"stet\": 1\n  }, \"b\": \"{\"\n}\n"},
		{"CRLF", "{\r\n  \"m\": {\r\n    \"x\": 2\r\n  }\r\n}\r\n", "{\r\n  \"m\": {\r\n    \"x\": 2,\r\n    \"stet\": 1\r\n  }\r\n}\r\n"},
	} {
		got, err := setMember([]byte(tt.text), []string{"m", "stet"}, 1)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %v\n%q, want\n%q", tt.name, err, got, tt.want)
		}
	}
	for _, bad := range []string{"[]", "{", `{"m": 1}`, `{"m": []}`, "null", `{"m": {"stet": 1}}`, `{"m": {"stet": null}}`} {
		if got, err := setMember([]byte(bad), []string{"m", "stet"}, 1); err == nil {
			t.Errorf("%s became %s", bad, got)
		}
	}
}

// Of an entry that is there nothing is changed: what is missing is added, and
// what differs is named.
func TestAddMemberKeepsTheRest(t *testing.T) {
	path := []string{"m", "stet"}
	for text, want := range map[string]string{
		`{"m": {"stet": {"env": {"A": "b"}, "command": "stet"}}}`:                  `{"m": {"stet": {"env": {"A": "b"}, "command": "stet",`,
		`{"m": {"stet": {"args": ["mcp"], "command": "stet", "env": {"A": "b"}}}}`: `{"m": {"stet": {"args": ["mcp"], "command": "stet", "env": {"A": "b"}}}}`,
		"{\r\n\"m\": {\"stet\": {\r\n  \"command\": \"stet\"\r\n}}}":               "{\r\n\"m\": {\"stet\": {\r\n  \"command\": \"stet\",\r\n  \"args\": [\r\n    \"mcp\"\r\n  ]",
	} {
		entry := map[string]any{"command": "stet", "args": []string{"mcp"}, "env": map[string]string{}}
		got, err := addMember([]byte(text), path, entry)
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
		`{"m": {"stet": {"command": "stet"}, "stet": {"command": "other"}}}`: `its "command" is "other"`,
	} {
		if got, err := addMember([]byte(text), path, testEntry); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v: %s", text, err, got)
		}
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

// A link to a file that is not there is not replaced, nor is the file made:
// whoever made the link decides where that is.
func TestSetupAtDanglingLink(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, ".mcp.json")
	if err := os.Symlink("dotfiles/mcp.json", file); err != nil {
		t.Skip("no links here:", err)
	}
	p := &program{dir: dir, env: []string{"HOME=" + dir}, out: io.Discard, err: io.Discard}
	if err := p.setup(mcpClients[0], true); err == nil || !strings.Contains(err.Error(), `a link to "dotfiles/mcp.json", which is not there`) {
		t.Error(err)
	}
	if to, err := os.Readlink(file); err != nil || to != "dotfiles/mcp.json" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
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
	for bad, want := range map[string]string{
		"mcp_servers = 1":                                       "mcp_servers is there and no table",
		"[[mcp_servers]]\nx = 1":                                "mcp_servers is there and no table",
		"mcp_servers = {}":                                      "mcp_servers is written in one line",
		"mcp_servers = {o = {x = 1}}":                           "mcp_servers is written in one line",
		"mcp_servers.stet = 1":                                  "it holds no settings",
		"mcp_servers = {stet = {x=1}}":                          "[mcp_servers.stet] is there already without args, command, tool_timeout_sec",
		"[mcp_servers.stet]\ncommand = \"other\"":               `[mcp_servers.stet] is there already: its "command" is "other" and not "s"`,
		"[mcp_servers.stet]\ncommand = \"s\"\nargs = [\"mcp\"]": "without tool_timeout_sec; add it by hand",
		"x = ": "toml:",
	} {
		if got, err := addTable([]byte(bad), []string{"mcp_servers", "stet"}, slowServer("s")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\n%s", bad, err, got)
		}
	}
	for _, fine := range []string{"mcp_servers.other.command = \"x\"\n", "# only a comment", "[mcp_servers]\r\n", "a = 1\r\n[b]\r\n"} {
		got, err := addTable([]byte(fine), []string{"mcp_servers", "stet"}, slowServer("s"))
		if err != nil || !strings.HasPrefix(string(got), fine) || strings.Contains(fine, "\r") != strings.Contains(string(got), "[mcp_servers.stet]\r\n") ||
			strings.Contains(fine, "\r") && strings.Count(string(got), "\r") != strings.Count(string(got), "\n") {
			t.Errorf("%q: %v: %q", fine, err, got)
		}
	}
}
