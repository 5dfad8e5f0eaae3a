package agents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// RemoveServer restores the file byte for byte. A file that setup made is removed.
func TestRemoveServer(t *testing.T) {
	for _, agent := range ServerAgents() {
		jsonTexts := []string{"", "{\n  // mine\n  \"a\": 1\n}\n", "{\r\n  \"a\": {\r\n    \"b\": 1\r\n  }\r\n}\r\n", "{\n  \"a\": 1\n}\n"}
		if agent == "codex" {
			jsonTexts = []string{"", "a = 1 # mine\n", "[mcp_servers.mine]\ncommand = \"x\"\n", "# mine\r\n[b]\r\nc = [\r\n  1,\r\n]\r\n"}
		}
		for _, text := range jsonTexts {
			home := t.TempDir()
			m := Machine{Env: []string{"HOME=" + home}, Dir: filepath.Join(home, "project")}
			s, _, err := m.serverOf(agent)
			if err != nil {
				t.Fatal(err)
			}
			file, state := s.file(m), filepath.Join(home, "state", "servers.json")
			if text != "" {
				put(t, file, text)
			}
			done, err := m.AddServer(agent, "/bin/stet")
			if err != nil || !done.Changed {
				t.Fatal(done, err)
			}
			added := done.Added
			if err := NoteServer(state, added); err != nil {
				t.Fatal(err)
			}
			with, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := []string{strings.Join(s.path, ".") + " is removed"}
			for _, dry := range []bool{true, false} {
				if out, err := m.RemoveServer(added, state, dry); err != nil || cmp.Diff(want, out.Changes) != "" {
					t.Fatalf("%s: %+v, %v", agent, out, err)
				}
				got, err := os.ReadFile(file)
				switch {
				case dry:
					if err != nil || string(got) != string(with) {
						t.Errorf("%s, dry: %q, %v", agent, got, err)
					}
				case text == "":
					if !os.IsNotExist(err) {
						t.Errorf("%s: %q is left", agent, got)
					}
				default:
					if diff := cmp.Diff(text, string(got)); diff != "" {
						t.Errorf("%s: %s", agent, diff)
					}
				}
			}
			if left, err := ReadServers(state); err != nil || len(left) > 0 {
				t.Errorf("%s: %v, %v", agent, left, err)
			}
		}
	}
}

// Text that a person has changed since, or written around the entry, stays.
func TestRemoveChangedServer(t *testing.T) {
	for _, test := range []struct{ agent, text, want, note string }{
		{"claude", `{"mcpServers": {"stet": {"command": "other"}}}`, `{"mcpServers": {"stet": {"command": "other"}}}`, "mcpServers.stet was changed since, and stays"},
		{"claude", `{"mcpServers": {}}`, `{"mcpServers": {}}`, ""},
		{
			"codex", "[mcp_servers.stet]\ncommand = \"s\"\nargs = [\"mcp\"]\ntool_timeout_sec = 660\nmine = \"\"\"\n# no comment\n\"\"\"\n[mcp_servers.stet.env]\nA = \"b\"\n\n# of c\n[c]\nd = 1\n",
			"\n# of c\n[c]\nd = 1\n", "",
		},
		{"codex", "mcp_servers.stet = { command = \"s\", args = [\"mcp\"], tool_timeout_sec = 660 }\n", "", "by hand"},
	} {
		home := t.TempDir()
		m := Machine{Env: []string{"HOME=" + home}, Dir: home}
		s, _, err := m.serverOf(test.agent)
		if err != nil {
			t.Fatal(err)
		}
		file := s.file(m)
		put(t, file, test.text)
		out, err := m.RemoveServer(AddedServer{Agent: test.agent, File: file}, filepath.Join(home, "servers.json"), false)
		got, readErr := os.ReadFile(file)
		if readErr != nil {
			t.Fatal(readErr)
		}
		if test.want == "" {
			if err == nil || !strings.Contains(err.Error(), test.note) || string(got) != test.text {
				t.Errorf("%s: %v, %q", test.text, err, got)
			}
			continue
		}
		if err != nil || out.Note != test.note || string(got) != test.want {
			t.Errorf("%s: %+v, %v, %q", test.text, out, err, got)
		}
	}
}
