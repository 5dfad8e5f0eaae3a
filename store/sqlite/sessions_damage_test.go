package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/test/sessiontest"
)

// newSessionFile creates a file with a session of n messages.
func newSessionFile(t *testing.T, n int) (path, id string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "stet.db")
	s := openSessions(t, path)
	h, err := session.Create(t.Context(), s, session.Opening{Dir: "/p"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := h.Append(t.Context(), sessiontest.Text(llm.User, fmt.Sprintf("message %d %s", i, strings.Repeat("x", 3000)))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path, h.ID()
}

// execStatements executes statements on the file like another program would.
func execStatements(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range append([]string{"DROP TRIGGER IF EXISTS events_are_never_changed", "DROP TRIGGER IF EXISTS events_are_never_cut"}, statements...) {
		if _, err := db.Exec(st); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// A damaged row is left out and reported. The session can still be resumed, appended to and searched.
func TestSessionDamagedRows(t *testing.T) {
	for name, test := range map[string]struct {
		statements []string
		says       string
		missing    int
	}{
		"body":     {[]string{"UPDATE events SET body = replace(body, 'message 1 ', 'message 7 ') WHERE seq = 3"}, "event 3: the stored bytes are not those that were written", 1},
		"time":     {[]string{"UPDATE events SET time_us = time_us + 1 WHERE seq = 3"}, "event 3: the stored bytes are not", 1},
		"cut":      {[]string{"UPDATE events SET body = substr(body, 1, 40) WHERE seq IN (3, 4)"}, "events 3 to 4: the stored bytes are not", 2},
		"gone":     {[]string{"DELETE FROM events WHERE seq = 5"}, "event 5: missing", 1},
		"torn off": {[]string{"DELETE FROM events WHERE seq >= 5"}, "events 5 to 7: missing", 3},
		"opening":  {[]string{"DELETE FROM events WHERE seq = 1"}, "event 1: missing", 0},
		"several":  {[]string{"DELETE FROM events WHERE seq = 7", "UPDATE events SET sum = 1 WHERE seq = 3"}, "event 3: the stored", 2},
	} {
		t.Run(name, func(t *testing.T) {
			path, id := newSessionFile(t, 6) // its events have the numbers 2 to 7
			execStatements(t, path, test.statements...)
			s := openSessions(t, path)
			defer s.Close()
			h, err := session.Resume(t.Context(), s, id)
			if err != nil {
				t.Fatal(err)
			}
			st := h.State()
			if len(st.Messages) != 6-test.missing || len(st.Damaged) == 0 || !strings.HasPrefix(st.Damaged[0].String(), test.says) {
				t.Errorf("%d messages, damaged %v", len(st.Messages), st.Damaged)
			}
			if err := h.Append(t.Context(), sessiontest.Text(llm.User, "on and on")); err != nil {
				t.Fatal(err)
			}
			if st := h.State(); st.Last != 8 || len(st.Messages) != 7-test.missing {
				t.Errorf("%d messages after event %d", len(st.Messages), st.Last)
			}
			if err := h.Rewind(t.Context(), 4); err != nil {
				t.Error(err)
			}
			again, err := session.Resume(t.Context(), s, id)
			if err != nil || len(again.State().Messages) != len(h.State().Messages) {
				t.Errorf("resumed again: %d messages, %d here, %v", len(again.State().Messages), len(h.State().Messages), err)
			}
			if hits, err := s.Search(t.Context(), []string{"on and on"}, 0); err != nil || len(hits) != 1 {
				t.Errorf("search: %v, %v", hits, err)
			}
		})
	}
}

// If pages of the file are overwritten, the data on these pages is lost. Opening the file fails only if the schema itself is
// damaged. Events that can be read are correct.
func TestSessionDamagedPages(t *testing.T) {
	path, id := newSessionFile(t, 300)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	first := bytes.Index(whole, []byte("message 20 ")) / page // the pages before it have the schema and the lists
	rnd := rand.New(rand.NewPCG(1, 2))
	read, lost := 0, 0
	for round := range 8 {
		content := bytes.Clone(whole)
		at := (first + rnd.IntN(len(content)/page-first)) * page
		for i := range page {
			content[at+i] = byte(rnd.Uint32())
		}
		broken := filepath.Join(t.TempDir(), fmt.Sprintf("broken%d.db", round))
		if err := os.WriteFile(broken, content, 0o600); err != nil {
			t.Fatal(err)
		}
		s := openSessions(t, broken)
		events, damaged, err := s.Events(t.Context(), id, 0)
		if err != nil {
			t.Errorf("page %d: %v", at/page, err)
		}
		for _, e := range events[1:] {
			want := sessiontest.Text(llm.User, fmt.Sprintf("message %d %s", e.Seq-2, strings.Repeat("x", 3000)))
			if got := e.Body.(session.Message); got.Parts[0] != want.Parts[0] {
				t.Errorf("page %d: event %d is not what was written", at/page, e.Seq)
			}
		}
		gone := 0
		for _, d := range damaged {
			gone += int(d.Last - d.First + 1)
		}
		if len(events)+gone != 301 {
			t.Errorf("page %d: %d events and %d damaged of 301", at/page, len(events), gone)
		}
		read, lost = read+len(events), lost+gone
		if err := s.Close(); err != nil {
			t.Log(err) // SQLite may detect more damage when it closes the file
		}
	}
	t.Logf("8 files with a page of noise each: %d events read, %d lost", read, lost)
}

// A file whose end is missing can be opened. The remaining events can be read. Nothing can be written.
func TestSessionTruncatedFile(t *testing.T) {
	path, id := newSessionFile(t, 100)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before := 0
	for _, part := range []int{30, 60, 95} { // percent of the file that remain
		content := whole[:len(whole)*part/100]
		torn := filepath.Join(t.TempDir(), "torn.db")
		if err := os.WriteFile(torn, content, 0o600); err != nil {
			t.Fatal(err)
		}
		s := openSessions(t, torn)
		h, err := session.Resume(t.Context(), s, id)
		if err != nil {
			t.Fatal(err)
		}
		st := h.State()
		if len(st.Messages) <= before || len(st.Messages) >= 100 || st.Last != 101 || len(st.Damaged) == 0 {
			t.Errorf("%d %%: %d messages, the last event is %d, damaged %v", part, len(st.Messages), st.Last, st.Damaged)
		}
		before = len(st.Messages)
		for i, m := range st.Messages {
			if want := fmt.Sprintf("message %d ", st.Marks[i]-2); !strings.HasPrefix(m.Parts[0].Text, want) {
				t.Errorf("%d %%: event %d does not say %q", part, st.Marks[i], want)
			}
		}
		if err := h.Append(t.Context(), session.Title("x")); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("append: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if now, err := os.ReadFile(torn); err != nil || !bytes.Equal(now, content) {
			t.Errorf("%d %%: the file was changed, %v", part, err)
		}
	}
}

// The -wal file is cut, as after a power failure. Complete commits are kept. The rest is discarded.
func TestSessionTruncatedLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stet.db")
	s := openSessions(t, path)
	defer s.Close()
	h, err := session.Create(t.Context(), s, session.Opening{})
	if err != nil {
		t.Fatal(err)
	}
	for seq := uint64(2); seq < 60; seq++ {
		if err := h.Append(t.Context(), messageOf(h.ID(), seq)); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	for round := range 8 {
		torn := filepath.Join(t.TempDir(), fmt.Sprintf("torn%d.db", round))
		cut := rand.IntN(len(log))
		for name, content := range map[string][]byte{torn: file, torn + "-wal": log[:cut]} {
			if err := os.WriteFile(name, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := openSessions(t, torn)
		found, err := s.List(t.Context(), session.Query{})
		if err != nil || len(found) > 1 {
			t.Fatalf("cut at %d of %d: %v, %v", cut, len(log), found, err)
		}
		if len(found) == 1 {
			checkMessages(t, s, found[0].ID, 1)
			again, err := session.Resume(t.Context(), s, found[0].ID)
			if err != nil {
				t.Fatal(err)
			}
			if err := again.Append(t.Context(), session.Title("on")); err != nil {
				t.Error(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Two processes append to one session. The later one gets ErrStale. No event is lost, although each process caches the session.
func TestSessionTwoStores(t *testing.T) {
	path, id := newSessionFile(t, 1)
	a, b := openSessions(t, path), openSessions(t, path)
	defer a.Close()
	defer b.Close()
	ours, err := session.Resume(t.Context(), a, id)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := session.Resume(t.Context(), b, id)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 10 {
		if err := ours.Append(t.Context(), sessiontest.Text(llm.User, fmt.Sprint("ours ", n))); err != nil {
			t.Fatal(err)
		}
		err := theirs.Append(t.Context(), sessiontest.Text(llm.User, "late"))
		if !errors.Is(err, session.ErrStale) {
			t.Fatal(err)
		}
		if err := theirs.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		ours, theirs = theirs, ours
	}
	if n := len(ours.State().Messages); n != 11 {
		t.Errorf("%d messages", n)
	}
}

// Stored events cannot be changed by mistake.
func TestSessionAppendOnly(t *testing.T) {
	path, _ := newSessionFile(t, 1)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{"UPDATE events SET body = ''", "DELETE FROM events"} {
		if _, err := db.Exec(statement); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v", statement, err)
		}
	}
}
