package workspace

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRootGone renames, replaces or deletes the root's directory while the root is open. Every call reports that, nothing
// is written, and the log has one entry. When the directory is back, calls succeed again.
func TestRootGone(t *testing.T) {
	var log bytes.Buffer
	tr := newTree(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	tr.put("f", "old\n")
	v := VersionOf([]byte("old\n"))
	p := tr.path("f")
	away := filepath.Join(filepath.Dir(tr.dir), "away")
	refused := func(why string) {
		t.Helper()
		_, rerr := tr.ReadAll(context.Background(), p)
		_, werr := tr.Write(context.Background(), p, []byte("new\n"), v, WriteMode{})
		_, serr := tr.Inspect(p)
		for _, err := range []error{rerr, werr, serr} {
			var e *Error
			if !errors.As(err, &e) || e.Err != ErrRootGone || !strings.Contains(e.Detail, why) || strings.Contains(e.Error(), tr.dir) {
				t.Errorf("got %v, want %q", err, why)
			}
		}
	}
	rename := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	rename(tr.dir, away)
	refused("renamed or deleted")
	if err := os.Mkdir(tr.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	refused("another directory")
	if n := strings.Count(log.String(), "the workspace is gone"); n != 1 {
		t.Errorf("the log says it %d times:\n%s", n, log.String())
	}
	if err := os.Remove(tr.dir); err != nil {
		t.Fatal(err)
	}
	rename(away, tr.dir)
	if got := tr.get("f"); got != "old\n" {
		t.Errorf("the file holds %q", got)
	}
	tr.mustWrite("f", "new\n", v, WriteMode{})
	if err := os.RemoveAll(tr.dir); err != nil {
		t.Fatal(err)
	}
	refused("renamed or deleted")
	if n := strings.Count(log.String(), "the workspace is gone"); n != 2 {
		t.Errorf("the log says it %d times:\n%s", n, log.String())
	}
}
