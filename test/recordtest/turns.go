package recordtest

import (
	"fmt"
	"math"
	"reflect"
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
	list := func(limit int) []record.Turn {
		t.Helper()
		got, err := s.Turns(t.Context(), limit)
		must(t, err)
		return got
	}
	minute := func(n int) time.Time { return Start.Add(time.Duration(n) * time.Minute) }
	if got := list(10); len(got) != 0 {
		t.Errorf("turns of an empty store: %v", got)
	}
	elsewhere := FullTurn(math.MaxUint64, Start.In(time.FixedZone("elsewhere", 3600)))
	plain := record.Turn{Prefix: 7, Time: minute(2)}
	must(t, s.Append(t.Context(), record.Batch{Turns: []record.Turn{elsewhere, plain}}))
	same(t, list(10), []record.Turn{plain, FullTurn(math.MaxUint64, Start)})

	// A turn that is stored again replaces the old one.
	again, other := FullTurn(math.MaxUint64, minute(3)), FullTurn(7, minute(4))
	again.Account = 99
	must(t, s.Append(t.Context(), record.Batch{Turns: []record.Turn{again, other}}))
	same(t, list(10), []record.Turn{other, again})

	// A turn with an older time does not change the stored time.
	late := FullTurn(7, minute(1))
	must(t, s.Append(t.Context(), record.Batch{Turns: []record.Turn{late}}))
	same(t, list(10), []record.Turn{other, again})

	var b record.Batch
	for i := range 5 {
		b.Turns = append(b.Turns, record.Turn{Prefix: uint64(100 + i), Time: minute(10 + i)})
	}
	must(t, s.Append(t.Context(), b))
	same(t, list(1), []record.Turn{b.Turns[4]})

	at, err := s.TurnsAt(t.Context(), []uint64{math.MaxUint64, 5, 102, 7, 7})
	must(t, err)
	same(t, at, []record.Turn{b.Turns[2], other, again})
	if none, err := s.TurnsAt(t.Context(), nil); err != nil || len(none) > 0 {
		t.Errorf("turns of no prefix: %v, %v", none, err)
	}
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
		left, err := s.Turns(t.Context(), 100)
		must(t, err)
		if len(left) != test.turns {
			t.Errorf("%+v: %d turns", test.limits, len(left))
		}
	}
}
