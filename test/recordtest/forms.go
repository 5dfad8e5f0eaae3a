package recordtest

import (
	"testing"
	"time"

	"github.com/stet-dev/stet/record"
)

func refusals(t *testing.T, s record.Store) {
	check := func(want bool) {
		t.Helper()
		for account, refuses := range map[uint64]bool{1<<64 - 1: want, 7: false} {
			got, err := s.Refuses(t.Context(), account)
			if must(t, err); got != refuses {
				t.Errorf("account %d refuses: %t", account, got)
			}
		}
	}
	check(false)
	for range 2 {
		must(t, s.Append(t.Context(), record.Batch{Refusals: []record.Refusal{{Account: 1<<64 - 1, Time: Start}}}))
		check(true)
	}
	_, err := s.Prune(t.Context(), record.Limits{Since: Start.Add(time.Second)})
	must(t, err)
	check(false)
}

func forms(t *testing.T, s record.Store) {
	find := func(places ...uint64) ([]record.SentPlace, map[uint64]record.SentForm) {
		t.Helper()
		at, list, err := s.SentForms(t.Context(), places)
		must(t, err)
		byID := map[uint64]record.SentForm{}
		for _, f := range list {
			if _, twice := byID[f.ID]; twice {
				t.Errorf("form %d comes twice", f.ID)
			}
			byID[f.ID] = f
		}
		return at, byID
	}
	minute := func(n int) time.Time { return Start.Add(time.Duration(n) * time.Minute) }
	if at, list := find(1, 2); len(at) != 0 || len(list) != 0 {
		t.Errorf("an empty store has %v, %v", at, list)
	}
	const high = 1<<64 - 1
	one := record.SentForm{ID: high, Edits: []byte{0, 1, 255}}
	two := record.SentForm{ID: 2, Parent: high, Edits: []byte("two")}
	three := record.SentForm{ID: 3, Parent: 2}
	must(t, s.Append(t.Context(), record.Batch{
		Forms: []record.SentForm{one, two, three},
		Places: []record.SentPlace{
			{Place: 10, Key: 3, Form: 3, Time: minute(1)}, {Place: 10, Key: high, Form: high, Time: minute(2), Drops: true}, {Place: high, Key: 0, Form: 0, Time: minute(3).In(time.FixedZone("elsewhere", 3600))},
		},
	}))
	at, list := find(10, high, 77)
	same(t, at, []record.SentPlace{{Place: high, Key: 0, Form: 0, Time: minute(3)}, {Place: 10, Key: high, Form: high, Time: minute(2), Drops: true}, {Place: 10, Key: 3, Form: 3, Time: minute(1)}})
	if len(three.Edits) == 0 {
		f := list[3]
		f.Edits = nil
		list[3] = f
	}
	same(t, []record.SentForm{list[high], list[2], list[3]}, []record.SentForm{one, two, three})
	if at, list := find(high); len(at) != 1 || len(list) != 0 {
		t.Errorf("a place without a form: %v, %v", at, list)
	}

	// A stored form does not change. A place that is stored again gets the newer time, and the marks of both.
	must(t, s.Append(t.Context(), record.Batch{
		Forms:  []record.SentForm{{ID: 2, Edits: []byte("other")}},
		Places: []record.SentPlace{{Place: 10, Key: 3, Form: 3, Time: minute(4), Bound: true}, {Place: 10, Key: high, Form: high, Time: minute(1)}}, // the second one has an older time than the stored one
	}))
	must(t, s.Append(t.Context(), record.Batch{Places: []record.SentPlace{{Place: 10, Key: 3, Form: 3, Time: minute(5)}}}))
	at, list = find(10)
	same(t, at, []record.SentPlace{{Place: 10, Key: 3, Form: 3, Time: minute(5), Bound: true}, {Place: 10, Key: high, Form: high, Time: minute(2), Drops: true}})
	same(t, list[2], two)

	// A form without places is removed. A form that a newer form is based on stays.
	_, err := s.Prune(t.Context(), record.Limits{Since: minute(4)})
	must(t, err)
	at, list = find(10, high)
	same(t, at, []record.SentPlace{{Place: 10, Key: 3, Form: 3, Time: minute(5), Bound: true}})
	if len(list) != 3 {
		t.Errorf("%d forms are left", len(list))
	}
	must(t, s.Append(t.Context(), record.Batch{Forms: []record.SentForm{{ID: 4, Edits: make([]byte, 1000)}}, Places: []record.SentPlace{{Place: 11, Key: 4, Form: 4, Time: minute(6)}}}))
	_, err = s.Prune(t.Context(), record.Limits{FormBytes: 1064})
	must(t, err)
	at, list = find(10, 11)
	same(t, at, []record.SentPlace{{Place: 11, Key: 4, Form: 4, Time: minute(6)}})
	if len(list) != 1 {
		t.Errorf("%d forms are left", len(list))
	}
}
