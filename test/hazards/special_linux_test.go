package hazards

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// makeSpecial makes one file of each special kind.
func makeSpecial(t *testing.T, w *world) []string {
	if err := unix.Mkfifo(w.abs("fifo"), 0o666); err != nil {
		t.Fatal(err)
	}
	names := []string{"fifo"}
	d, err := os.Open(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	t.Chdir(w.dir) // makes the socket's name short
	l, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	names = append(names, "socket")
	for name, number := range map[string]uint64{"zero": unix.Mkdev(1, 5), "tty": unix.Mkdev(5, 0)} {
		if unix.Mknod(w.abs(name), unix.S_IFCHR|0o666, int(number)) == nil {
			names = append(names, name)
		}
	}
	return names
}

// Row: a tree with files that cannot be read, or that block their readers: the search continues, and says what it skipped.
// (FILE-18)
func TestSearchProc(t *testing.T) {
	w := newWorld(t)
	w.dir = "/proc/self"
	if dir, err := filepath.EvalSymlinks(w.dir); err == nil {
		w.dir = dir
	}
	a := w.agent()
	var r struct {
		Success bool
		Content string
		Data    struct {
			Skipped int
			Files   []string `json:"skipped_files"`
		}
	}
	for _, c := range []struct {
		tool string
		args args
	}{
		{"search_text", args{"pattern": "VmRSS", "glob": "*"}},
		{"find_files", args{"pattern": "status"}},
	} {
		if err := json.Unmarshal([]byte(a.works(c.tool, c.args).raw), &r); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(r.Content, "status") {
			t.Errorf("%s: %+v", c.tool, r)
		}
		if c.tool == "search_text" && (r.Data.Skipped == 0 || len(r.Data.Files) == 0 || len(r.Data.Files) > 10) {
			t.Errorf("%s: not said what was skipped: %+v", c.tool, r.Data)
		}
	}
}
