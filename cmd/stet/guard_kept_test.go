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
