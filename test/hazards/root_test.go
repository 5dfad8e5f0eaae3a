package hazards

import (
	"os"
	"testing"
)

// Row: the root is renamed, replaced or deleted while the server runs: every call fails and says so, and nothing is read or
// written in either directory.
func TestRootReplaced(t *testing.T) {
	w := newWorld(t)
	w.config = "unread = \"allow\"\n"
	w.put("f", "old\n")
	a := w.agent()
	a.works("read_file", args{"path": "f"})
	away := w.dir + "-away"
	refused := func() {
		t.Helper()
		a.fails("HOST_UNAVAILABLE", "Read", args{"path": "f"})
		a.fails("host_unavailable", "read_file", args{"path": "f"})
		a.fails("host_unavailable", "write_file", args{"path": "f", "content": "new\n"})
		a.fails("host_unavailable", "list_files", args{})
		a.fails("host_unavailable", "undo", args{"all": true})
	}
	rename := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	a.works("write_file", args{"path": "f", "content": "newer\n"})
	rename(w.dir, away)
	refused()
	if err := os.Mkdir(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	refused()
	w.missing("f")
	if err := os.Remove(w.dir); err != nil {
		t.Fatal(err)
	}
	rename(away, w.dir)
	a.works("write_file", args{"path": "f", "content": "newest\n"})
	if err := os.RemoveAll(w.dir); err != nil {
		t.Fatal(err)
	}
	refused()
}
