package hazards

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // for changes of the trail by an attacker
)

// Row: the audit trail is removed, cut or emptied, while a server runs or between two servers: the server notices that, says so,
// and writes nothing to the workspace until a person confirms it. (FILE-11)
func TestTrailAttacked(t *testing.T) {
	for _, test := range []struct {
		name    string
		between bool // the attack is between two servers; false: while one runs
		attack  func(t *testing.T, db string)
	}{
		{"removed", false, func(t *testing.T, db string) { removeAll(t, db) }},
		{"cut", false, func(t *testing.T, db string) {
			if err := os.Truncate(db, 0); err != nil {
				t.Fatal(err)
			}
		}},
		{"emptied", false, func(t *testing.T, db string) { forge(t, db, "DELETE FROM trail") }},
		{"shortened", false, func(t *testing.T, db string) { forge(t, db, "DELETE FROM trail WHERE seq > 2") }},
		{"removed", true, func(t *testing.T, db string) { removeAll(t, db) }},
		{"emptied", true, func(t *testing.T, db string) { forge(t, db, "DELETE FROM trail") }},
		{"shortened", true, func(t *testing.T, db string) { forge(t, db, "DELETE FROM trail WHERE seq > 2") }},
	} {
		name := test.name + " while running"
		if test.between {
			name = test.name + " between two runs"
		}
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.config = "unread = \"allow\"\n"
			w.put("there", "old\n")
			a := w.agent()
			for n := range 3 {
				a.works("write_file", args{"path": "f", "content": fmt.Sprintln(n)})
			}
			db := filepath.Join(w.home, "state", "stet", "stet.db")
			if test.between {
				_ = a.Close() // writes the whole trail
			}
			test.attack(t, db)
			if test.between {
				a = w.agent()
			}
			for range 2 {
				r := a.do("write_file", args{"path": "new", "content": "2\n"})
				if r.ok() || !strings.Contains(r.raw, "audit trail has lost entries") || strings.Contains(r.raw, w.home) {
					t.Errorf("written: %s", r.raw)
				}
				if r := a.do("edit_file", args{"path": "there", "edits": edits("old", "new")}); r.ok() {
					t.Errorf("edited: %s", r.raw)
				}
			}
			if r := a.do("read_file", args{"path": "there"}); r.ok() {
				t.Errorf("read: %s", r.raw)
			}
			w.missing("new")
			if got := w.get("there"); got != "old\n" {
				t.Errorf("the file holds %q", got)
			}
			_ = a.Close() // writes that cannot be recorded return an error

			if test.name != "cut" { // SQLite restores the entries from its write-ahead log
				if out, err := w.command("audit", "--verify").CombinedOutput(); err == nil {
					t.Errorf("it verifies: %s", out)
				}
				w.run("audit", "accept")
			}
			a = w.agent()
			a.works("write_file", args{"path": "new", "content": "3\n"})
			_ = a.Close() // writes the whole trail
			w.run("audit", "--verify")
		})
	}
}

func removeAll(t *testing.T, db string) {
	t.Helper()
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(db + end); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// forge removes the triggers that prevent accidental changes of the trail, and then changes it.
func forge(t *testing.T, file, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("DROP TRIGGER IF EXISTS trail_is_never_cut; DROP TRIGGER IF EXISTS trail_is_cut_by_pruning_only; " + statement); err != nil {
		t.Fatal(err)
	}
}
