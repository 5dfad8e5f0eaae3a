package sqlite_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/sqlite"
	"github.com/stet-dev/stet/test/recordtest"
)

// directory returns the contents of the files in a directory.
func directory(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if all[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// A database with another schema is refused. The message says what to do. No byte in its directory is changed.
func TestOtherSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stet.db")
	s := open(t, path)
	intents(t, s, 2, recordtest.Start)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := sqlite.Inspect(t.Context(), path, record.Query{}); err != nil || got.Schema != got.Newest || got.Rows["trail"] != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	damage(t, path, "PRAGMA user_version = 99; ALTER TABLE trail ADD COLUMN to_come TEXT NOT NULL DEFAULT ''")
	before := directory(t, filepath.Dir(path))
	_, err1 := sqlite.Open(t.Context(), path)
	_, err2 := sqlite.OpenSessions(t.Context(), path)
	for _, err := range []error{err1, err2} {
		if err == nil || !strings.Contains(err.Error(), "made by another version of stet (schema 99, this one knows ") ||
			!strings.Contains(err.Error(), "use that version, or name another path or database; nothing was changed") {
			t.Error(err)
		}
	}
	if after := directory(t, filepath.Dir(path)); !maps.EqualFunc(after, before, bytes.Equal) {
		t.Errorf("files before: %v, after: %v", slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
	}
	if got, err := sqlite.Inspect(t.Context(), path, record.Query{}); err != nil || got.Schema != 99 || got.Rows != nil {
		t.Errorf("%+v, %v", got, err)
	}
}
