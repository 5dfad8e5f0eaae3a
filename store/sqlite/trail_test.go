package sqlite_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
)

// FILE-11: a manual change of the file is detected, and the first changed entry is named.
func TestTampering(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stet.db")
	s := open(t, path)
	for i := range 9 {
		if _, err := s.Log(t.Context(), recordtest.FullEntry("s", fmt.Sprint(i), recordtest.Start)); err != nil {
			t.Fatal(err)
		}
	}
	head, err := record.Verify(t.Context(), s)
	if err != nil || head.Broken != nil {
		t.Fatal(head, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const loosen = "DROP TRIGGER trail_is_never_changed; DROP TRIGGER trail_is_cut_by_pruning_only; "
	for _, test := range []struct {
		statement string
		seq       uint64
		why       string
	}{
		{"UPDATE trail SET path = 'other' WHERE seq = 4", 4, "changed"},
		{"UPDATE trail SET by = 'person eve', time_us = 0 WHERE seq = 9", 9, "changed"},
		{"UPDATE trail SET flags = '[\"unread\"]' WHERE seq = 1", 1, "changed"},
		{"DELETE FROM trail WHERE seq = 5", 6, "entry 5 is missing"},
		{"DELETE FROM trail WHERE seq = 1", 2, "entry 1 is missing"},
		{"DELETE FROM trail WHERE seq > 7", 8, "the end is missing: there was an entry 9"},
		{"DELETE FROM trail", 1, "the end is missing"},
		{"UPDATE trail SET seq = 100 WHERE seq = 3; UPDATE trail SET seq = 3 WHERE seq = 4; UPDATE trail SET seq = 4 WHERE seq = 100", 3, "changed"},
	} {
		changed := filepath.Join(t.TempDir(), "changed.db")
		if err := os.WriteFile(changed, execute(t, whole, loosen+test.statement), 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, changed)
		v, err := record.Verify(t.Context(), s, head.Head)
		if err != nil || v.Broken == nil || v.Broken.Seq != test.seq || !strings.Contains(v.Broken.Why, test.why) {
			t.Errorf("%s: broken %+v, %v", test.statement, v.Broken, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}

	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{"UPDATE trail SET path = ''", "DELETE FROM trail"} {
		if _, err := db.Exec(statement); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

func BenchmarkLog(b *testing.B) {
	for _, kind := range []record.Kind{record.Call, record.Intent} {
		b.Run(string(kind), func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "stet.db"))
			defer s.Close()
			e := recordtest.FullEntry("s", "src/a.go", recordtest.Start)
			e.Kind = kind
			for b.Loop() {
				if _, err := s.Log(b.Context(), e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// If the tables of a file were altered, the error says so, and says what a person can do.
func TestAlteredTables(t *testing.T) {
	for _, statement := range []string{"DROP TABLE trail", "ALTER TABLE trail DROP COLUMN flags"} {
		path := filepath.Join(t.TempDir(), "stet.db")
		if err := open(t, path).Close(); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		s := open(t, path)
		if _, err := s.Entries(t.Context(), record.TrailQuery{}); err == nil || !strings.Contains(err.Error(), "not as stet made it; move it away") {
			t.Errorf("%s: read: %v", statement, err)
		}
		if _, err := s.Log(t.Context(), record.Entry{Kind: record.Call}); err == nil || !strings.Contains(err.Error(), "not as stet made it") {
			t.Errorf("%s: write: %v", statement, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
