package postgres_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/postgres"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/test/sessiontest"
)

// held is the content of a database, as its readers return it.
type held struct {
	Sessions []session.Info
	Events   []session.Event
	Requests []record.Request
	Places   []record.SentPlace
	Forms    []record.SentForm
	Entries  []record.Entry
}

func read(t *testing.T, s *postgres.Store, sessions *postgres.Sessions, id string) (h held) {
	t.Helper()
	var damaged []session.Damage
	var errs [5]error
	h.Sessions, errs[0] = sessions.List(t.Context(), session.Query{})
	h.Events, damaged, errs[1] = sessions.Events(t.Context(), id, 1)
	h.Requests, errs[2] = s.Requests(t.Context(), record.Query{})
	h.Places, h.Forms, errs[3] = s.SentForms(t.Context(), []uint64{7})
	h.Entries, errs[4] = s.Entries(t.Context(), record.TrailQuery{})
	if err := errors.Join(errs[:]...); err != nil || len(damaged) > 0 {
		t.Fatal(damaged, err)
	}
	return h
}

// FILE-11: a trail that pg_dump saved and pg_restore restored is complete, and takes new entries. A process that has written
// entries after the backup refuses the restored trail. Any other process can detect the loss with an entry that it knows.
func TestBackup(t *testing.T) {
	url, file := server.Database(t), filepath.Join(t.TempDir(), "stet.dump")
	s, sessions := open(t, url), openSessions(t, url)
	defer s.Close()
	defer sessions.Close()
	log := func(s *postgres.Store, at time.Time) record.Link {
		t.Helper()
		e, err := s.Log(t.Context(), recordtest.FullEntry("s", "p", at))
		if err != nil {
			t.Fatal(err)
		}
		return e[0].Link()
	}
	h, err := session.Create(t.Context(), sessions, session.Opening{}, sessiontest.Text(llm.User, "words"), session.Title("a title"))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if err := s.Append(t.Context(), record.Batch{
		Requests: []record.Request{recordtest.Full("r", "c", now)},
		Forms:    []record.SentForm{{ID: 5, Edits: []byte("edits")}},
		Places:   []record.SentPlace{{Place: 7, Form: 5, Time: now}},
	}); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		log(s, now.AddDate(0, 0, -100))
	}
	log(s, now)
	if removed, err := s.PruneTrail(t.Context(), now.AddDate(0, 0, -30), 1, "policy"); err != nil || removed != 5 {
		t.Fatal(removed, err)
	}
	want := read(t, s, sessions, h.ID())
	if len(want.Events) == 0 || len(want.Requests) != 1 || len(want.Places) != 1 || len(want.Forms) != 1 || len(want.Entries) != 2 {
		t.Fatalf("%+v", want)
	}
	server.Dump(t, url, file)
	later := log(s, now)

	// An empty database has all records after the restore, and takes new ones.
	empty := server.Database(t)
	server.Restore(t, file, empty)
	again, sessionsAgain := open(t, empty), openSessions(t, empty)
	defer again.Close()
	defer sessionsAgain.Close()
	if diff := cmp.Diff(want, read(t, again, sessionsAgain, h.ID())); diff != "" {
		t.Errorf("restored (-before +after):\n%s", diff)
	}
	if v, err := record.Verify(t.Context(), again); err != nil || v.Broken != nil || v.Entries != 2 {
		t.Errorf("%+v, %v", v, err)
	}
	if v, err := record.Verify(t.Context(), again, later); err != nil || v.Broken == nil {
		t.Errorf("an entry from after the backup is not missed: %+v, %v", v, err)
	}
	if e, err := again.AcceptLoss(t.Context(), "me"); err != nil || e.Seq != 0 {
		t.Errorf("a process that has written nothing misses an entry: %+v, %v", e, err)
	}
	log(again, now)
	if _, err := session.Create(t.Context(), sessionsAgain, session.Opening{}, sessiontest.Text(llm.User, "words"), session.Title("a title")); err != nil {
		t.Error(err)
	}
	if v, err := record.Verify(t.Context(), again); err != nil || v.Broken != nil || v.Entries != 3 {
		t.Errorf("%+v, %v", v, err)
	}

	// A running process detects that an older state was restored.
	server.Restore(t, file, url, "--clean", "--if-exists")
	if _, err := s.Log(t.Context(), recordtest.FullEntry("s", "p", now)); !errors.Is(err, record.ErrLost) {
		t.Errorf("log: %v", err)
	}
	if err := s.Ready(t.Context()); !errors.Is(err, record.ErrLost) {
		t.Errorf("ready: %v", err)
	}
	fresh := open(t, url)
	defer fresh.Close()
	log(fresh, now)
}
