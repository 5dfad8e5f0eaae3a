package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/sqlite"
)

// Events keep the order in which they were appended, and appends succeed, also if the clock is set back or ahead.
func TestSessionClock(t *testing.T) {
	s, err := sqlite.OpenSessions(t.Context(), filepath.Join(t.TempDir(), "stet.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	now := time.Now().UTC().Truncate(time.Microsecond)
	times := []time.Time{now, now.AddDate(70, 0, 0), now.AddDate(-30, 0, 0), now}
	for i, at := range times {
		e := session.Event{Time: at, Body: session.Title(string(rune('a' + i)))}
		if i == 0 {
			e.Body = session.Opening{Dir: "/d"}
		}
		if err := s.Append(t.Context(), session.Batch{Session: "s", After: uint64(i), Events: []session.Event{e}}); err != nil {
			t.Fatal(err)
		}
	}
	events, damaged, err := s.Events(t.Context(), "s", 0)
	if err != nil || len(damaged) > 0 || len(events) != len(times) {
		t.Fatal(events, damaged, err)
	}
	for i, e := range events {
		if e.Seq != uint64(i+1) || !e.Time.Equal(times[i]) {
			t.Errorf("event %d: %d at %v, want %v", i, e.Seq, e.Time, times[i])
		}
	}
	if list, err := s.List(t.Context(), session.Query{}); err != nil || len(list) != 1 || list[0].Title != "d" || list[0].Last != 4 {
		t.Errorf("%+v, %v", list, err)
	}
}
