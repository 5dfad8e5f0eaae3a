package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Installing the guard shows the difference without the token, asks, and keeps a copy of what the file held; removing it gives the file back byte for
// byte. (GRD-2)
func TestGuardInstall(t *testing.T) {
	r := newUndoRig(t)
	home := strings.TrimPrefix(r.p.env[0], "HOME=")
	file, before := filepath.Join(home, ".claude/settings.json"), "{\n  \"model\": \"x\"\n}\n"
	put := func(text string) {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(before)
	holds := func(name, want string) {
		t.Helper()
		if text, err := os.ReadFile(name); err != nil || string(text) != want {
			t.Errorf("%s holds %q, %v", name, text, err)
		}
	}
	for _, args := range [][]string{{"guard", "claude"}, {"guard", "claude", "--dry-run"}} { // without a yes nothing is installed
		r.p.in = strings.NewReader("")
		code, said := r.stet(args...)
		if !strings.Contains(said, "+") || !strings.Contains(said, "PreToolUse") || !strings.Contains(said, "/guard/claude/") || (code == 0) != (len(args) == 3) {
			t.Error(args, code, said)
		}
		holds(file, before)
	}
	code, said := r.stet("guard", "claude", "--yes")
	token, err := os.ReadFile(filepath.Join(home, "stet/guard/token"))
	if err != nil || code != 0 || strings.Contains(said, string(token)) || !strings.Contains(said, "what it held is in ") {
		t.Fatal(code, said, err)
	}
	_, kept, _ := strings.Cut(said, "what it held is in ")
	kept, _, _ = strings.Cut(kept, "\n")
	holds(kept, before)
	if code, said := r.stet("guard", "claude", "--remove", "--yes"); code != 0 {
		t.Error(said)
	}
	holds(file, before)
}

// In a new home the commands about what agents did say that no agent is guarded, and how that is done; after the installation they do not. The installation says
// how each agent goes on if the guard does not answer. (GRD-2)
func TestGuardNewHome(t *testing.T) {
	r := newUndoRig(t)
	says := func(want bool) {
		t.Helper()
		for _, args := range [][]string{{"undo"}, {"undo", "--last"}, {"audit"}, {"guard", "status"}} {
			if _, said := r.stet(args...); strings.Contains(said, `no agent is guarded: "stet guard claude|codex|`) != want {
				t.Error(args, said)
			}
		}
	}
	says(true)
	for _, c := range []struct{ args, says string }{
		{"claude", "claude goes on as if there were no guard; with --closed its calls are refused"}, {"claude --closed", "calls are refused; versions before 2.1.295 go on"},
		{"claude --project --closed", "calls are refused; versions before 2.1.295 go on"}, {"codex", "it cannot refuse calls"}, {"opencode", "with --closed its calls are refused"},
		{"opencode --closed", "calls are refused"}, {"codex --closed", "codex cannot refuse calls when a hook fails: leave --closed out"},
	} {
		if _, said := r.stet(append(strings.Fields("guard --yes"), strings.Fields(c.args)...)...); !strings.Contains(said, c.says) {
			t.Errorf("%s: %s", c.args, said)
		}
	}
	says(false)
}

// What the guard keeps is readable by its person alone, is in no debug bundle, and goes with uninstall --state. (GRD-3)
func TestKeptIsPrivate(t *testing.T) {
	r := newUndoRig(t, "printf 'PASSWORD=correct-horse\n' > .env")
	r.call("rm .env")
	home := strings.TrimPrefix(r.p.env[0], "HOME=")
	dir, n := filepath.Join(home, "stet/guard"), 0
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", name, info.Mode())
		}
		if info.Mode().IsRegular() {
			n++
		}
		return err
	})
	if err != nil || n == 0 {
		t.Fatal(err, n)
	}
	if code, said := r.stet("debug", "bundle"); code != 0 || strings.Contains(said, "correct-horse") || strings.Contains(said, ".env") {
		t.Error(code, said)
	}
	if code, said := r.stet("audit"); code != 0 || strings.Contains(said, "correct-horse") {
		t.Error(code, said)
	}
	_ = r.tree.Close()
	if code, said := r.stet("uninstall", "--state", "--yes"); code != 0 {
		t.Fatal(said)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("what was kept is still there")
	}
}
