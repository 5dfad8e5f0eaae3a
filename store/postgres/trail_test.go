package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/postgres"
	"github.com/stet-dev/stet/test/recordtest"
)

// FILE-11: several processes add to the trail at the same time. The result is one chain.
func TestTrailOfSeveral(t *testing.T) {
	url := server.Database(t)
	var wg sync.WaitGroup
	const nodes, writers, each = 3, 8, 5
	var first *postgres.Store
	for n := range nodes {
		s := open(t, url)
		defer s.Close()
		first = s
		for w := range writers {
			wg.Go(func() {
				for i := range each {
					e := recordtest.FullEntry(fmt.Sprintf("s%d-%d", n, w), "p", recordtest.Start)
					e.Kind, e.Intent = record.Intent, uint64(i)
					if _, err := s.Log(t.Context(), e); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	v, err := record.Verify(t.Context(), first)
	if err != nil || v.Broken != nil || v.Entries != nodes*writers*each {
		t.Fatalf("%+v, %v", v, err)
	}
	for n := range nodes {
		for w := range writers {
			mine, err := first.Entries(t.Context(), record.TrailQuery{Session: fmt.Sprintf("s%d-%d", n, w)})
			if err != nil || len(mine) != each {
				t.Fatalf("writer %d of node %d: %d entries, %v", w, n, len(mine), err)
			}
			for i, e := range mine {
				if e.Intent != uint64(i) {
					t.Errorf("writer %d of node %d: entry %d is its write %d", w, n, i, e.Intent)
				}
			}
		}
	}
}

// change executes statements on the database like another program would, without the triggers.
func change(t *testing.T, url, statements string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	if _, err := c.PgConn().Exec(t.Context(), "SET session_replication_role = replica;"+statements).ReadAll(); err != nil {
		t.Fatal(err)
	}
}

// FILE-11: a trail that was cut, changed or emptied refuses new entries until a person accepts the loss.
func TestTrailLost(t *testing.T) {
	for name, test := range map[string]struct {
		damage    string
		whileOpen bool // only a process that has written to the trail can detect the damage
	}{
		"the end is missing":     {damage: "DELETE FROM trail WHERE seq > 3"},
		"emptied":                {damage: "DELETE FROM trail"},
		"end and head":           {damage: "DELETE FROM trail WHERE seq > 3; UPDATE trail_head SET seq = 3, hash = (SELECT hash FROM trail WHERE seq = 3)", whileOpen: true},
		"the newest is another":  {damage: "UPDATE trail SET hash = prev WHERE seq = 5"},
		"no head":                {damage: "DELETE FROM trail_head"},
		"restored to the start":  {damage: "DELETE FROM trail; UPDATE trail_head SET seq = 0, hash = ''", whileOpen: true},
		"one more than is noted": {damage: "INSERT INTO trail SELECT 6, time_us, prev, hash, kind, intent, root, session, client, call_id, tool, path, bytes, before, after, decision, by, outcome, flags, request FROM trail WHERE seq = 5"},
	} {
		t.Run(name, func(t *testing.T) {
			url := server.Database(t)
			s := open(t, url)
			defer func() { s.Close() }()
			for range 5 {
				if _, err := s.Log(t.Context(), recordtest.FullEntry("s", "p", recordtest.Start)); err != nil {
					t.Fatal(err)
				}
			}
			change(t, url, test.damage)
			if !test.whileOpen {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = open(t, url)
			}
			_, err := s.Log(t.Context(), recordtest.FullEntry("s", "p", recordtest.Start))
			if !errors.Is(err, record.ErrLost) {
				t.Errorf("log: %v", err)
			}
			for what, err := range map[string]error{"check": s.CheckTrail(t.Context()), "ready": s.Ready(t.Context())} {
				if !errors.Is(err, record.ErrLost) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if v, err := record.Verify(t.Context(), s); err != nil || v.Broken == nil {
				t.Errorf("verify: %+v, %v", v, err)
			}
			e, err := s.AcceptLoss(t.Context(), "me")
			if err != nil || e.Kind != record.Loss {
				t.Fatalf("accept: %+v, %v", e, err)
			}
			if _, err := s.Log(t.Context(), recordtest.FullEntry("s", "p", recordtest.Start)); err != nil {
				t.Errorf("log after that: %v", err)
			}
			if e, err := s.AcceptLoss(t.Context(), "me"); err != nil || e.Seq != 0 {
				t.Errorf("nothing is lost any more: %+v, %v", e, err)
			}
		})
	}
}

// FILE-11: entries of the trail and events of sessions cannot be changed or removed by mistake.
func TestAppendOnly(t *testing.T) {
	url := server.Database(t)
	s := open(t, url)
	defer s.Close()
	if _, err := s.Log(t.Context(), recordtest.FullEntry("s", "p", recordtest.Start)); err != nil {
		t.Fatal(err)
	}
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	for _, statement := range []string{"UPDATE trail SET by = 'me'", "DELETE FROM trail", "TRUNCATE trail", "TRUNCATE events"} {
		if _, err := c.Exec(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

// FILE-11: pruning removes old entries from the trail and leaves a checkpoint. A suspension that is in force stays.
func TestPruneTrail(t *testing.T) {
	s := open(t, server.Database(t))
	defer s.Close()
	now := time.Now()
	old := now.AddDate(0, 0, -100)
	log := func(at time.Time, kind record.Kind, session string) {
		t.Helper()
		if _, err := s.Log(t.Context(), record.Entry{Time: at, Kind: kind, Session: session}); err != nil {
			t.Fatal(err)
		}
	}
	log(old, record.Suspend, "bad")
	log(old, record.Suspend, "good")
	log(old, record.Resume, "good")
	for range 20 {
		log(old, record.Call, "s")
	}
	log(now, record.Call, "s")
	removed, err := s.PruneTrail(t.Context(), now.AddDate(0, 0, -30), 3, "policy")
	if err != nil || removed != 21 {
		t.Fatal(removed, err)
	}
	v, err := record.Verify(t.Context(), s)
	if err != nil || v.Broken != nil || v.Pruned.Seq != 21 {
		t.Errorf("%+v, %v", v, err)
	}
	if suspended, err := record.Suspended(t.Context(), s); err != nil || len(suspended) != 1 || suspended[0].Session != "bad" {
		t.Errorf("%+v, %v", suspended, err)
	}
	if removed, err := s.PruneTrail(t.Context(), now.AddDate(0, 0, -30), 100, "policy"); err != nil || removed != 0 {
		t.Error(removed, err)
	}
}
