package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/sqlite"
)

// intents logs n entries that survive a power failure.
func intents(t *testing.T, s *sqlite.Store, n int, at time.Time) []record.Entry {
	t.Helper()
	entries := make([]record.Entry, n)
	for i := range entries {
		entries[i] = record.Entry{Kind: record.Intent, Time: at, Session: "s", Path: "p"}
	}
	out, err := s.Log(t.Context(), entries...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// damage executes statements on the file like another program would.
func damage(t testing.TB, path, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// falseCheckpoint removes all entries of the trail, and adds an entry which says that the first 100 entries were pruned.
func falseCheckpoint(t *testing.T, path string) {
	t.Helper()
	gone := record.Link{Seq: 100, Hash: strings.Repeat("0", 64)}
	e := record.PruneEntry(gone, 100, "policy audit-days")
	e.Time = time.Now()
	e = record.Chain(gone, []record.Entry{e})[0]
	damage(t, path, uncut+fmt.Sprintf(`DELETE FROM trail;
		INSERT INTO trail (seq, time_us, prev, hash, kind, intent, root, session, client, call_id, tool, path, bytes,
			before, after, decision, by, outcome, flags, request)
		VALUES (%d, %d, '%s', '%s', 'prune', %d, '', '', '', '', '', '', 0, '%s', '', '%s', '%s', '%s', '["100 removed"]', '')`,
		e.Seq, e.Time.UnixMicro(), e.Prev, e.Hash, e.Intent, e.Before, e.Decision, e.By, e.Outcome))
}

const uncut = "DROP TRIGGER trail_is_cut_by_pruning_only; "

func remove(t *testing.T, files ...string) {
	t.Helper()
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
}

// FILE-11: a trail that is removed, replaced, emptied or shortened while it is open refuses new entries. The error says why.
func TestLostWhileOpen(t *testing.T) {
	for _, test := range []struct {
		name, says string
		attack     func(t *testing.T, path string)
	}{
		{"removed", "stet.db was removed", func(t *testing.T, path string) { remove(t, path) }},
		{"all removed", "stet.db was removed", func(t *testing.T, path string) { remove(t, path, path+"-wal", path+"-shm") }},
		{"log of changes removed", "stet.db-wal was removed", func(t *testing.T, path string) { remove(t, path+"-wal") }},
		{"replaced", "stet.db was replaced", func(t *testing.T, path string) {
			remove(t, path, path+"-wal", path+"-shm")
			if err := open(t, path).Close(); err != nil {
				t.Fatal(err)
			}
		}},
		{"cut", "stet.db was cut", func(t *testing.T, path string) {
			if err := os.Truncate(path, 0); err != nil {
				t.Fatal(err)
			}
		}},
		{"emptied", "entry 6, which was written", func(t *testing.T, path string) { damage(t, path, uncut+"DELETE FROM trail") }},
		{"shortened", "entry 6, which was written", func(t *testing.T, path string) {
			damage(t, path, uncut+"DELETE FROM trail WHERE seq > 3")
		}},
		{"emptied, with a checkpoint of pruning that never was", "entry 6, which was written", falseCheckpoint},
		{"shortened by another process, which goes on", "entry 6 is not the one", func(t *testing.T, path string) {
			damage(t, path, uncut+"DELETE FROM trail WHERE seq > 3")
			remove(t, strings.TrimSuffix(path, ".db")+".anchor")
			other := open(t, path)
			intents(t, other, 9, time.Now())
			if err := other.Close(); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "stet.db")
			s := open(t, path)
			defer s.Close()
			intents(t, s, 6, time.Now())
			if err := s.CheckTrail(t.Context()); err != nil {
				t.Fatal(err)
			}
			test.attack(t, path)
			for _, e := range []record.Entry{{Kind: record.Call}, {Kind: record.Intent}, {Kind: record.Call}} {
				_, err := s.Log(t.Context(), e)
				if !errors.Is(err, record.ErrLost) || !strings.Contains(err.Error(), test.says) {
					t.Errorf("%s: %v", e.Kind, err)
				}
				var worded interface{ Reason() string }
				if !errors.As(err, &worded) || strings.Contains(worded.Reason(), filepath.Dir(path)) {
					t.Errorf("what an agent hears: %v", worded)
				}
			}
			if err := s.CheckTrail(t.Context()); !errors.Is(err, record.ErrLost) {
				t.Errorf("check: %v", err)
			}
			if err := s.Ready(t.Context()); !errors.Is(err, record.ErrLost) {
				t.Errorf("ready: %v", err)
			}
			if v, err := record.Verify(t.Context(), s); err != nil || v.Broken == nil {
				t.Errorf("verified: %+v, %v", v, err)
			}
		})
	}
}

// FILE-11: the next run detects entries that were removed between two runs. It reports the loss until a person accepts it.
func TestLostBetweenRuns(t *testing.T) {
	for _, test := range []struct {
		name   string
		left   int // entries
		attack func(t *testing.T, path string)
	}{
		{"removed", 0, func(t *testing.T, path string) { remove(t, path) }},
		{"emptied", 0, func(t *testing.T, path string) { damage(t, path, uncut+"DELETE FROM trail") }},
		{"shortened", 4, func(t *testing.T, path string) { damage(t, path, uncut+"DELETE FROM trail WHERE seq > 4") }},
		{"only the last entry, which was not durable", 6, func(t *testing.T, path string) {
			damage(t, path, uncut+"DELETE FROM trail WHERE seq > 6")
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "stet.db")
			s := open(t, path)
			last := intents(t, s, 6, time.Now())
			calls, err := s.Log(t.Context(), record.Entry{Kind: record.Call})
			if err != nil {
				t.Fatal(err)
			}
			last = append(last, calls...)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			test.attack(t, path)

			s = open(t, path)
			if _, err := s.Log(t.Context(), record.Entry{Kind: record.Intent}); !errors.Is(err, record.ErrLost) {
				t.Errorf("the next run: %v", err)
			}
			if v, err := record.Verify(t.Context(), s); err != nil || v.Broken == nil || !strings.Contains(v.Broken.Why, "there was an entry 7") {
				t.Errorf("verified: %+v, %v", v, err)
			}
			running := open(t, path)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}

			s = open(t, path)
			defer s.Close()
			e, err := s.AcceptLoss(t.Context(), "desk")
			if err != nil || e.Seq != uint64(test.left+1) || e.Intent != 7 || e.Before != last[6].Hash || e.Kind != record.Loss {
				t.Errorf("accepted: %+v, %v", e, err)
			}
			if e, err := s.AcceptLoss(t.Context(), "desk"); err != nil || e.Seq != 0 {
				t.Errorf("accepted again: %+v, %v", e, err)
			}
			intents(t, s, 2, time.Now())
			v, err := record.Verify(t.Context(), s)
			if err != nil || v.Broken != nil || v.Entries != test.left+3 || len(v.Losses) != 1 {
				t.Errorf("after that: %+v, %v", v, err)
			}
			if err := running.Close(); err != nil { // Close does not write the old anchor again
				t.Error(err)
			}
			if err := s.CheckTrail(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// stet reports a damaged anchor. A new anchor is written when a person accepts the loss.
func TestDamagedAnchor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stet.db")
	s := open(t, path)
	defer s.Close()
	intents(t, s, 1, time.Now())
	anchor := filepath.Join(filepath.Dir(path), "stet.anchor")
	whole, err := os.ReadFile(anchor)
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"x", string(whole) + "more", strings.Replace(string(whole), "stet trail", "stet snail", 1),
		"stet trail 18446744073709551615:" + strings.Repeat("0", 64) + "\n"} {
		if err := os.WriteFile(anchor, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Log(t.Context(), record.Entry{Kind: record.Call}); !errors.Is(err, record.ErrLost) || !strings.Contains(err.Error(), "is damaged") {
			t.Errorf("%q: %v", content, err)
		}
		if _, err := s.AcceptLoss(t.Context(), "desk"); err != nil {
			t.Errorf("%q: %v", content, err)
		}
		intents(t, s, 1, time.Now())
	}
	if _, err := s.Entries(t.Context(), record.TrailQuery{}); err != nil {
		t.Error(err)
	}
	remove(t, anchor)
	if err := os.Mkdir(anchor, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Log(t.Context(), record.Entry{Kind: record.Call}); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("a directory: %v", err)
	}
	remove(t, anchor)
	intents(t, s, 1, time.Now())
}

// The anchor never names an entry that would be lost in a power failure.
func TestAnchorIsBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stet.db")
	s := open(t, path)
	defer s.Close()
	other := open(t, path)
	defer other.Close()
	for i, log := range []struct {
		s    *sqlite.Store
		kind record.Kind
		want string
	}{
		{s, record.Intent, "1:"}, {s, record.Call, "1:"}, {other, record.Intent, "3:"}, {other, record.Outcome, "3:"}, {s, record.Intent, "5:"},
	} {
		if _, err := log.s.Log(t.Context(), record.Entry{Kind: log.kind, Intent: 3}); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(filepath.Dir(path), "stet.anchor"))
		if err != nil || !strings.Contains(string(b), "0"+log.want) {
			t.Errorf("after entry %d: %q, %v", i+1, b, err)
		}
	}
}
