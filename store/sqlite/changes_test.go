package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/sqlite"
	"github.com/stet-dev/stet/test/sessiontest"
)

// Changes reports writes through this handle, through another one, and to sessions. It reports no change without a write.
func TestChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stet.db")
	open := func() *sqlite.Store {
		s, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	here, other, sessions := open(), open(), openSessions(t, path)
	defer func() { _ = sessions.Close() }()
	var last int64
	changed := func() bool {
		t.Helper()
		n, err := here.Changes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { last = n }()
		return n != last
	}
	changed()
	log := func(s *sqlite.Store, kind record.Kind) {
		t.Helper()
		if _, err := s.Log(t.Context(), record.Entry{Time: time.Now(), Kind: kind}); err != nil {
			t.Fatal(err)
		}
	}
	for name, write := range map[string]func(){
		"a call here": func() { log(here, record.Call) }, "an intent here": func() { log(here, record.Intent) },
		"another handle": func() { log(other, record.Call) },
		"a session": func() {
			if _, err := session.Create(t.Context(), sessions, session.Opening{}, sessiontest.Text(llm.User, "x")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		write()
		if !changed() {
			t.Errorf("%s: nothing is said to have changed", name)
		}
		if _, err := here.Entries(t.Context(), record.TrailQuery{}); err != nil {
			t.Fatal(err)
		}
		if changed() {
			t.Errorf("%s: something is said to have changed again", name)
		}
	}
}

// A hub sends events that another handle of the same file adds.
func TestHubFollowsAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stet.db")
	other, store := openSessions(t, path), openSessions(t, path)
	defer func() { _ = other.Close() }()
	here := &session.Hub{Store: store, Poll: time.Millisecond}
	defer func() { _ = here.Close() }()
	s, err := session.Create(t.Context(), other, session.Opening{}, sessiontest.Text(llm.User, "x"))
	if err != nil {
		t.Fatal(err)
	}
	sub, err := here.Subscribe(t.Context(), s.ID(), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	for want := uint64(3); want <= 5; want++ {
		if err := s.Append(t.Context(), sessiontest.Text(llm.User, "more")); err != nil {
			t.Fatal(err)
		}
		if e, err := sub.Next(t.Context()); err != nil || e.Seq != want {
			t.Fatalf("event %d, %v, want %d", e.Seq, err, want)
		}
	}
}
