package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/postgres"
	"github.com/stet-dev/stet/test/sessiontest"
)

func TestSessionSuite(t *testing.T) {
	sessiontest.Run(t, func(t *testing.T) session.Store { return openSessions(t, server.Database(t)) })
}

func openSessions(t testing.TB, url string) *postgres.Sessions {
	t.Helper()
	s, err := postgres.OpenSessions(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Two processes append to the same sessions at the same time, with several appends in a commit. Every number is given once. The
// row of each session is the fold of its events.
func TestSessionsOfSeveral(t *testing.T) {
	url := server.Database(t)
	nodes := []*postgres.Sessions{openSessions(t, url), openSessions(t, url)}
	const sessions, writers, each = 3, 4, 25
	ids := make([]string, sessions)
	for i := range ids {
		h, err := session.Create(t.Context(), nodes[0], session.Opening{})
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = h.ID()
	}
	var wg sync.WaitGroup
	for n, node := range nodes {
		for w := range writers {
			wg.Go(func() {
				last := map[string]uint64{ids[0]: 1, ids[1]: 1, ids[2]: 1} // the opening
				for i := 0; i < each; {
					id := ids[(i+w)%sessions]
					err := node.Append(t.Context(), session.Batch{Session: id, After: last[id], Events: []session.Event{{
						Body: sessiontest.Text(llm.User, fmt.Sprint(n, w, i)),
					}}})
					switch {
					case errors.Is(err, session.ErrStale):
						list, err := node.List(t.Context(), session.Query{ID: id})
						if err != nil || len(list) != 1 {
							t.Error(list, err)
							return
						}
						last[id] = list[0].Last
					case err != nil:
						t.Error(err)
						return
					default:
						i++
						last[id]++
					}
				}
			})
		}
	}
	wg.Wait()
	total := 0
	for _, s := range nodes {
		total = 0
		for _, id := range ids {
			events, damaged, err := s.Events(t.Context(), id, 0)
			if err != nil || len(damaged) > 0 {
				t.Fatal(damaged, err)
			}
			total += len(events) - 1
			list, err := s.List(t.Context(), session.Query{ID: id})
			if err != nil || len(list) != 1 {
				t.Fatal(list, err)
			}
			var want session.Info
			for i, e := range events {
				if e.Seq != uint64(i+1) {
					t.Errorf("event %d has number %d", i, e.Seq)
				}
				want.Add(e)
			}
			if got := list[0]; got.Last != want.Last || got.Count != want.Count || got.First != want.First {
				t.Errorf("the session says %+v, its events %+v", got, want)
			}
		}
	}
	if total != len(nodes)*writers*each {
		t.Errorf("%d events", total)
	}
	for _, s := range nodes {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
