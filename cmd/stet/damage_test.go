package main

import (
	"bytes"
	"database/sql"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/toolset"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/tool"
)

// A manually changed trail is reported as broken. Undo then writes nothing outside its workspace, and nothing that a person has not
// seen, whatever the trail contains. (FILE-12)
func TestDamagedTrail(t *testing.T) {
	for change, want := range map[string]struct{ verify, undo, seen string }{
		"path = '../../escape'":   {"broken at entry 1: the entry was changed", "without --yes", "invalid_path"},
		"path = '.git/config'":    {"broken at entry 1", "without --yes", "permission_denied"},
		"before = '../../escape'": {"broken at entry 1", "without --yes", "not kept any more"},
		"before = after":          {"broken at entry 1", "without --yes", "nothing to undo"},
		"root = ''":               {"broken at entry 1", "without --yes", "write 1: the audit trail does not say"},
		"root = 'relative'":       {"broken at entry 1", "without --yes", "write 1: the audit trail does not say"},
		"root = '/no/such/tree'":  {"broken at entry 1", "without --yes", "/no/such/tree"},
		"flags = '{nonsense'":     {"broken at entry 1", "without --yes", "user_rejected"},
		"seq = 7":                 {"entry 1 is missing", "there is no such session and no such write", "no such session and no such write"},
	} {
		t.Run(change, func(t *testing.T) {
			home, tree := writtenTree(t)
			db, err := sql.Open("sqlite", filepath.Join(home, "stet", "stet.db"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = db.Exec("DROP TRIGGER trail_is_never_changed; UPDATE trail SET " + change + " WHERE seq = 1")
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			run := func(args ...string) string {
				t.Helper()
				var said bytes.Buffer
				p := &program{in: strings.NewReader("r\n\n"), out: &said, err: &said, env: []string{"HOME=" + home, "XDG_STATE_HOME=" + home}, dir: tree}
				if code := p.run(t.Context(), args); code != exitFailed {
					t.Errorf("stet %v: code %d", args, code)
				}
				return said.String()
			}
			if got := run("audit", "--verify"); !strings.Contains(got, want.verify) {
				t.Errorf("verify: %s", got)
			}
			if got := run("undo", "--yes", "1"); !strings.Contains(got, want.undo) {
				t.Errorf("undo --yes: %s", got)
			}
			if got := run("undo", "1"); !strings.Contains(got, want.seen) {
				t.Errorf("undo: %s", got)
			}
			if b, _ := os.ReadFile(filepath.Join(tree, "a.txt")); string(b) != "two\n" {
				t.Errorf("the file holds %q", b)
			}
		})
	}
}

// writtenTree is a state directory and a tree in which a file was overwritten.
func writtenTree(t *testing.T) (home, tree string) {
	t.Helper()
	home, tree = t.TempDir(), t.TempDir()
	write(t, filepath.Join(tree, "a.txt"), "one\n")
	p := &program{out: io.Discard, err: io.Discard, env: []string{"HOME=" + home, "XDG_STATE_HOME=" + home}, dir: tree}
	o, err := p.toolOptions(&config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	o.Rate = -1
	o.Policy.Unattended, o.Policy.Unread = true, policy.Allow
	h, err := toolset.Open(t.Context(), tree, o)
	if err != nil {
		t.Fatal(err)
	}
	r, err := h.Handler.Call(t.Context(), tool.Call{ID: "1", Session: "s", Name: "write_file", Arguments: []byte(`{"path":"a.txt","content":"two\n"}`)})
	if err != nil || r.Failed() {
		t.Errorf("%v: %s", err, r.Text)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	return home, tree
}
