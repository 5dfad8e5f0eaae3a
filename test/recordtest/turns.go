package recordtest

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stet-dev/stet/record"
)

// FullTurn returns a turn in which no field is zero.
func FullTurn(prefix uint64, at time.Time) record.Turn {
	return record.Turn{
		Prefix: prefix, Conversation: "c", Thread: math.MaxUint64 - 1, Time: at, Model: "model-a", System: math.MaxUint64, Tools: 1 << 63,
		Lifetime: time.Hour, Account: -1234,
	}
}

func turns(t *testing.T, s record.Store) {
	v := reflect.ValueOf(FullTurn(1, Start))
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Fatalf("the suite leaves %s zero", v.Type().Field(i).Name)
		}
	}
	minute := func(n int) time.Time { return Start.Add(time.Duration(n) * time.Minute) }
	const high = math.MaxUint64
	if got := turnsAt(t, s, high, 7); len(got) != 0 {
		t.Errorf("turns of an empty store: %v", got)
	}
	elsewhere := FullTurn(high, Start.In(time.FixedZone("elsewhere", 3600)))
	plain := record.Turn{Prefix: 7, Time: minute(2)}
	must(t, s.Append(t.Context(), record.Batch{Turns: []record.Turn{elsewhere, plain}}))
	same(t, turnsAt(t, s, high, 7, 7), []record.Turn{plain, FullTurn(high, Start)})

	// A turn that is stored again replaces the old one. Another model, system text or set of tools is another turn.
	again, other := FullTurn(high, minute(3)), plain
	again.Account, other.Model, other.Time = 99, "model-b", minute(4)
	must(t, s.Append(t.Context(), record.Batch{Turns: []record.Turn{again, other}}))
	same(t, turnsAt(t, s, high, 7), []record.Turn{other, again, plain})

	// A turn with an older time does not change the stored time.
	late := again
	late.Time = minute(1)
	must(t, s.Append(t.Context(), record.Batch{Turns: []record.Turn{late}}))
	same(t, turnsAt(t, s, high), []record.Turn{again})

	// The other turns of a thread come too.
	var b record.Batch
	for i := range 5 {
		b.Turns = append(b.Turns, record.Turn{Prefix: uint64(100 + i), Time: minute(10 + i), Thread: uint64(1 + i/3)})
	}
	must(t, s.Append(t.Context(), b))
	same(t, turnsAt(t, s, 102, 5), []record.Turn{b.Turns[2], b.Turns[1], b.Turns[0]})
	same(t, turnsAt(t, s, 103), []record.Turn{b.Turns[4], b.Turns[3]})
	// A long thread takes no room from another one, whichever of them is newer.
	var long record.Batch
	for i := range record.ThreadTurns + 10 {
		long.Turns = append(long.Turns, record.Turn{Prefix: uint64(1000 + i), Time: minute(20 + i), Thread: 3})
	}
	must(t, s.Append(t.Context(), long))
	want := append(slices.Clone(long.Turns[10:]), long.Turns[4])
	slices.SortFunc(want, func(a, b record.Turn) int { return b.Time.Compare(a.Time) })
	same(t, turnsAt(t, s, 1004, 102), append(want, b.Turns[2], b.Turns[1], b.Turns[0]))
	if none := turnsAt(t, s); len(none) > 0 {
		t.Errorf("turns of no prefix: %v", none)
	}
}

// turnsAt returns what is stored at prefixes, the newest first, each turn once.
func turnsAt(t *testing.T, s record.Store, prefixes ...uint64) []record.Turn {
	t.Helper()
	all, err := s.Turns(t.Context(), prefixes)
	must(t, err)
	slices.SortFunc(all, func(a, b record.Turn) int { return b.Time.Compare(a.Time) })
	return slices.Compact(all)
}

func prune(t *testing.T, s record.Store) {
	var b record.Batch
	for i := range 10 {
		r := Full(fmt.Sprint("r", i), "c", Start.Add(time.Duration(i)*time.Minute))
		b.Requests = append(b.Requests, r)
		b.Trims = append(b.Trims, record.Trim{Request: r.ID, Time: r.Time, Conversation: "c", CallID: "k"})
		turn := FullTurn(uint64(i), r.Time)
		b.Turns = append(b.Turns, turn)
	}
	must(t, s.Append(t.Context(), b))
	for _, test := range []struct {
		limits              record.Limits
		removed             int
		firstRequest, turns int
	}{
		{record.Limits{}, 0, 0, 10},
		{record.Limits{Since: Start.Add(3 * time.Minute), Requests: 100, Turns: 100}, 3, 3, 7},
		{record.Limits{Requests: 5, Turns: 2}, 2, 5, 2},
		{record.Limits{Since: Start.Add(time.Hour)}, 5, 10, 0},
	} {
		removed, err := s.Prune(t.Context(), test.limits)
		must(t, err)
		if removed != test.removed {
			t.Errorf("%+v: %d removed", test.limits, removed)
		}
		rows, trims := requests(t, s, record.Query{}), trims(t, s, record.Query{})
		if len(rows) != 10-test.firstRequest || len(trims) != len(rows) ||
			len(rows) > 0 && (rows[0].ID != fmt.Sprint("r", test.firstRequest) || trims[0].Request != rows[0].ID) {
			t.Errorf("%+v: %d requests, %d trims", test.limits, len(rows), len(trims))
		}
		if left := turnsAt(t, s, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9); len(left) != test.turns {
			t.Errorf("%+v: %d turns", test.limits, len(left))
		}
	}
}
