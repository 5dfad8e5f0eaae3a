package agents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// A link to a missing file is not replaced, and the file is not made: the person who made the link decides where the file is.
func TestSetupAtDanglingLink(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, ".mcp.json")
	if err := os.Symlink("dotfiles/mcp.json", file); err != nil {
		t.Skip("no links here:", err)
	}
	m := Machine{Dir: dir, Env: []string{"HOME=" + dir}}
	if _, err := m.AddServer("claude", "stet"); err == nil || !strings.Contains(err.Error(), `a link to "dotfiles/mcp.json", which is not there`) {
		t.Error(err)
	}
	if to, err := os.Readlink(file); err != nil || to != "dotfiles/mcp.json" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
}

func TestAddTable(t *testing.T) {
	text := "model = \"m\" # mine\n[mcp_servers.other]\ncommand = \"x\""
	got, err := addTable([]byte(text), []string{"mcp_servers", "stet"}, entryWith(map[string]any{"tool_timeout_sec": 660})([]string{"/bin/stet", "mcp"}))
	if err != nil || !strings.HasPrefix(string(got), text+"\n\n[mcp_servers.stet]\n") {
		t.Fatalf("%v: %s", err, got)
	}
	var v map[string]any
	if err := toml.Unmarshal(got, &v); err != nil {
		t.Fatal(err)
	}
	again, err := addTable(got, []string{"mcp_servers", "stet"}, entryWith(map[string]any{"tool_timeout_sec": 660})([]string{"/bin/stet", "mcp"}))
	if err != nil || string(again) != string(got) {
		t.Errorf("again: %v: %s", err, again)
	}
	for bad, want := range map[string]string{
		"mcp_servers = 1":                                       "mcp_servers is there, but it is not a table",
		"[[mcp_servers]]\nx = 1":                                "mcp_servers is there, but it is not a table",
		"mcp_servers = {}":                                      "mcp_servers is written in one line",
		"mcp_servers = {o = {x = 1}}":                           "mcp_servers is written in one line",
		"mcp_servers.stet = 1":                                  "it holds no settings",
		"mcp_servers = {stet = {x=1}}":                          "[mcp_servers.stet] is there already without args, command, tool_timeout_sec",
		"[mcp_servers.stet]\ncommand = \"other\"":               `[mcp_servers.stet] is there already: its "command" is "other" and not "s"`,
		"[mcp_servers.stet]\ncommand = \"s\"\nargs = [\"mcp\"]": "without tool_timeout_sec; add it by hand",
		"x = ": "toml:",
	} {
		if got, err := addTable([]byte(bad), []string{"mcp_servers", "stet"}, entryWith(map[string]any{"tool_timeout_sec": 660})([]string{"s", "mcp"})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\n%s", bad, err, got)
		}
	}
	for _, fine := range []string{"mcp_servers.other.command = \"x\"\n", "# only a comment", "[mcp_servers]\r\n", "a = 1\r\n[b]\r\n"} {
		got, err := addTable([]byte(fine), []string{"mcp_servers", "stet"}, entryWith(map[string]any{"tool_timeout_sec": 660})([]string{"s", "mcp"}))
		if err != nil || !strings.HasPrefix(string(got), fine) || strings.Contains(fine, "\r") != strings.Contains(string(got), "[mcp_servers.stet]\r\n") ||
			strings.Contains(fine, "\r") && strings.Count(string(got), "\r") != strings.Count(string(got), "\n") {
			t.Errorf("%q: %v: %q", fine, err, got)
		}
	}
}
