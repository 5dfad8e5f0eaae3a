package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The state directory is read-only for a user who is not root: commands that need to write report this, and do not claim success.
// The others work. None panics.
func TestReadOnlyState(t *testing.T) {
	const trail = "check that the file and its directory can be written"
	const state = "XDG_STATE_HOME says where else it may be"
	for name, filled := range map[string]bool{"empty": false, "filled": true} {
		t.Run(name, func(t *testing.T) {
			h := asOrdinaryUser(t)
			dir := filepath.Join(h.dir, "state")
			h.env = append(h.env, "XDG_STATE_HOME="+dir)
			says := func(empty, full string) string {
				if filled {
					return full
				}
				return empty
			}
			claude := filepath.Join(h.dir, "claude")
			if err := os.WriteFile(claude, []byte("#!/bin/sh\necho at=$ANTHROPIC_BASE_URL through=$HTTPS_PROXY\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			if filled {
				h.run(t, "wrap", "--", claude)
				h.run(t, "run", "--model", "scripted", "--root", h.tree, "--allow", "*.txt", "show me")
				h.run(t, "token", "create", "one", "--scope", "agent")
			}
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			for _, d := range []string{filepath.Join(dir, "stet"), dir} {
				if err := os.Chmod(d, 0o555); err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
			}
			if filled {
				if err := os.Chmod(filepath.Join(dir, "stet", "stet.db"), 0o400); err != nil {
					t.Fatal(err)
				}
			}
			t.Cleanup(func() {
				_ = os.Chmod(dir, 0o700) // otherwise its content cannot be removed
				_ = os.Chmod(filepath.Join(dir, "stet"), 0o700)
			})
			for _, c := range []struct{ args, says string }{ // "": it works
				{"--version", ""},
				{"savings", ""},
				{"tokens tree/a.txt", ""},
				{"setup opencode", ""},
				{"token list", ""},
				{"demo", ""},
				{"wrap -- true", ""},
				{"wrap --no-record -- true", ""},
				{"wrap -- " + claude, ""},
				{"wrap --via connect -- " + claude, says("authority for the forward proxy", "")},
				{"cache --live", says("nothing is recorded yet", trail)},
				{"audit", says("nothing is recorded yet", trail)},
				{"audit --verify", says("nothing is recorded yet", trail)},
				{"undo", says("nothing is recorded yet", trail)},
				{"resume", says("nothing is recorded yet", trail)},
				{"approve 1", "process 1 does not ask here"},
				{"sessions list", says("no session is stored yet", trail)},
				{"sessions show latest", says("no session is stored yet", trail)},
				{"token create two --scope agent", state},
				{"token revoke one", says(state, "the tokens are not changed")},
				{"run --root tree --model scripted x", says(state, trail)},
				{"chat --root tree --model scripted", says(state, trail)},
				{"mcp --root tree", says(state, trail)},
				{"acp --model scripted", says("permission denied", trail)},
				{"serve --root tree --listen 127.0.0.1:0 --for 1ms", state},
			} {
				cmd := h.stet(strings.Fields(c.args)...)
				out, err := cmd.CombinedOutput()
				text := string(out)
				switch {
				case c.args == "wrap -- "+claude && !strings.Contains(text, says("at=http://127.0.0.1", "at= through=http://stet:")):
					t.Errorf("%s: %s", c.args, text) // without an authority it gets a base URL
				case strings.Contains(text, "panic"), strings.Contains(text, "is revoked"):
					t.Errorf("%s: %s", c.args, text)
				case c.says == "" && err != nil:
					t.Errorf("%s: %v: %s", c.args, err, text)
				case c.says != "" && (err == nil || !strings.Contains(text, c.says) || strings.Count(text, "\n") != 1):
					t.Errorf("%s: %v: %s, want %q", c.args, err, text, c.says)
				}
			}
		})
	}
}
