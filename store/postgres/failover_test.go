package postgres_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/test/postgrestest"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/test/sessiontest"
)

// The suites also pass behind PgBouncer, where each transaction may get another connection.
func TestBehindPgBouncer(t *testing.T) {
	behind := func(t *testing.T) string { return server.Bouncer(t, server.Database(t)) }
	t.Run("sessions", func(t *testing.T) {
		sessiontest.Run(t, func(t *testing.T) session.Store { return openSessions(t, behind(t)) })
	})
	t.Run("records", func(t *testing.T) {
		recordtest.Run(t, func(t *testing.T) record.Store { return open(t, behind(t)) })
	})
	t.Run("trail", func(t *testing.T) {
		recordtest.RunTrail(t, func(t *testing.T) record.Trail { return open(t, behind(t)) })
	})
}

// PostgreSQL is killed and started again while events and entries are appended. No append fails. Each event and entry is stored
// exactly once.
func TestServerKilled(t *testing.T) {
	var own postgrestest.Server
	defer own.Stop()
	url := own.Database(t)
	const nodes, writers, rounds = 2, 6, 4
	var wg sync.WaitGroup
	var acknowledged atomic.Int64
	var kills sync.WaitGroup
	kill := make(chan struct{}, 1)
	stop := make(chan struct{})
	kills.Go(func() {
		for n := range rounds {
			for acknowledged.Load() < int64(100*(n+1)) {
				select {
				case <-kill:
				case <-stop:
					return
				}
			}
			own.Kill(t)
			own.Start(t)
		}
	})
	progress := func() {
		acknowledged.Add(1)
		select {
		case kill <- struct{}{}:
		default:
		}
	}
	const each = 100
	begin := make(chan struct{}) // closed when all stores are open
	ids := make([]string, nodes*writers)
	for n := range nodes {
		sessions, trail := openSessions(t, url), open(t, url)
		defer sessions.Close()
		defer trail.Close()
		for w := range writers {
			h, err := session.Create(t.Context(), sessions, session.Opening{})
			if err != nil {
				t.Fatal(err)
			}
			ids[n*writers+w] = h.ID()
			wg.Go(func() {
				<-begin
				for i := range each {
					if err := h.Append(t.Context(), sessiontest.Text(llm.User, fmt.Sprint(i))); err != nil {
						t.Errorf("append %d: %v", i, err)
						return
					}
					progress()
				}
			})
			wg.Go(func() {
				<-begin
				for i := range each {
					e := record.Entry{Time: recordtest.Start, Kind: record.Intent, Session: h.ID(), Bytes: int64(i)}
					if _, err := trail.Log(t.Context(), e); err != nil {
						t.Errorf("log %d: %v", i, err)
						return
					}
					progress()
				}
			})
		}
	}
	close(begin)
	wg.Wait()
	close(stop)
	kills.Wait()
	sessions, trail := openSessions(t, url), open(t, url)
	defer sessions.Close()
	defer trail.Close()
	for _, id := range ids {
		events, damaged, err := sessions.Events(t.Context(), id, 1)
		if err != nil || len(damaged) > 0 || len(events) != each {
			t.Fatalf("%d events of %s, damaged %v, %v", len(events), id, damaged, err)
		}
		for i, e := range events {
			if m, ok := e.Body.(session.Message); !ok || m.Parts[0].Text != fmt.Sprint(i) {
				t.Errorf("event %d of %s is %+v", i, id, e.Body)
			}
		}
		entries, err := trail.Entries(t.Context(), record.TrailQuery{Session: id})
		if err != nil || len(entries) != each {
			t.Errorf("%d entries of %s, %v", len(entries), id, err)
		}
		for i, e := range entries {
			if e.Bytes != int64(i) {
				t.Errorf("entry %d of %s is its write %d", i, id, e.Bytes)
			}
		}
	}
	if v, err := record.Verify(t.Context(), trail); err != nil || v.Broken != nil || v.Entries != nodes*writers*each {
		t.Errorf("%d entries, %+v, %v", v.Entries, v.Broken, err)
	}
}
