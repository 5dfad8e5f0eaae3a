package postgres_test

import (
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/test/postgrestest"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/test/sessiontest"
)

// A process stops responding in a transaction that has locked the end of the trail. It does not stop the other processes.
func TestSilentInTransaction(t *testing.T) {
	url := server.Database(t)
	silent, other := open(t, url), open(t, url)
	defer silent.Close()
	defer other.Close()
	locked, done, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- silent.HoldTrail(t.Context(), func() {
			close(locked)
			<-done
		})
	}()
	<-locked
	if _, err := other.Log(t.Context(), record.Entry{Time: recordtest.Start, Kind: record.Call}); err != nil {
		t.Error(err)
	}
	close(done)
	if err := <-ended; err == nil {
		t.Error("the silent transaction was committed")
	}
	if _, err := silent.Log(t.Context(), record.Entry{Time: recordtest.Start, Kind: record.Call}); err != nil {
		t.Error(err)
	}
}

// Reads wait while PostgreSQL restarts.
func TestReadsWait(t *testing.T) {
	var own postgrestest.Server
	defer own.Stop()
	url := own.Database(t)
	sessions, trail := openSessions(t, url), open(t, url)
	defer sessions.Close()
	defer trail.Close()
	h, err := session.Create(t.Context(), sessions, session.Opening{}, sessiontest.Text(llm.User, "a"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trail.Log(t.Context(), record.Entry{Time: recordtest.Start, Kind: record.Call, Session: "s"}); err != nil {
		t.Fatal(err)
	}
	own.Kill(t)
	read := make(chan error, 3)
	go func() {
		_, _, err := sessions.Events(t.Context(), h.ID(), 0)
		read <- err
	}()
	go func() {
		_, err := sessions.List(t.Context(), session.Query{})
		read <- err
	}()
	go func() {
		_, err := trail.Entries(t.Context(), record.TrailQuery{Session: "s"})
		read <- err
	}()
	own.Start(t)
	for range cap(read) {
		if err := <-read; err != nil {
			t.Error(err)
		}
	}
}
