package faults

import (
	"testing"
	"time"
)

// at returns a time of an invented history.
func at(seconds int) time.Time { return time.Unix(int64(seconds), 0) }

// The checks find the errors in invented histories.
func TestChecks(t *testing.T) {
	add := func(from, to int, after uint64, value string, s status) operation {
		return operation{append: true, after: after, value: value, status: s, begin: at(from), end: at(to)}
	}
	read := func(from, to int, values ...string) operation {
		return operation{values: values, begin: at(from), end: at(to)}
	}
	for name, c := range map[string]struct {
		history []operation
		final   []string
		right   bool
	}{
		"in turn":                  {[]operation{add(1, 2, 1, "a", appended), read(3, 4, "a"), add(5, 6, 2, "b", appended)}, []string{"a", "b"}, true},
		"at once":                  {[]operation{add(1, 4, 1, "a", appended), add(2, 5, 1, "b", stale), read(3, 6)}, []string{"a"}, true},
		"unknown, and made":        {[]operation{add(1, 2, 1, "a", unknown), read(3, 4), read(5, 6, "a")}, []string{"a"}, true},
		"unknown, and not made":    {[]operation{add(1, 2, 1, "a", unknown), add(3, 4, 1, "b", appended)}, []string{"b"}, true},
		"lost":                     {[]operation{add(1, 2, 1, "a", appended)}, nil, false},
		"twice":                    {[]operation{add(1, 2, 1, "a", appended)}, []string{"a", "a"}, false},
		"read too late":            {[]operation{add(1, 2, 1, "a", appended), read(3, 4)}, []string{"a"}, false},
		"gone again":               {[]operation{add(1, 9, 1, "a", appended), read(2, 3, "a"), read(4, 5)}, []string{"a"}, false},
		"refused without a reason": {[]operation{add(1, 2, 1, "a", stale)}, nil, false},
		"two in one place":         {[]operation{add(1, 2, 1, "a", appended), add(3, 4, 1, "b", appended)}, []string{"a", "b"}, false},
	} {
		if err := linearizable(c.history, c.final); (err == nil) != c.right {
			t.Errorf("%s: %v", name, err)
		}
	}
	done := func(from, to int, line string) *write {
		return &write{line: line, acknowledged: true, begin: at(from), end: at(to)}
	}
	for name, c := range map[string]struct {
		writes []*write
		reads  []reading
		final  []string
		right  bool
	}{
		"in turn":       {[]*write{done(1, 2, "a"), done(3, 4, "b")}, []reading{{"", []string{"a"}, at(2), at(3)}}, []string{"b", "a"}, true},
		"not known":     {[]*write{{line: "a", begin: at(1), end: at(2)}}, []reading{{"", nil, at(3), at(4)}}, []string{"a"}, true},
		"lost":          {[]*write{done(1, 2, "a")}, nil, nil, false},
		"twice":         {[]*write{done(1, 2, "a")}, nil, []string{"a", "a"}, false},
		"read too late": {[]*write{done(1, 2, "a")}, []reading{{"", nil, at(3), at(4)}}, []string{"a"}, false},
	} {
		if err := ordered(c.writes, c.reads, c.final); (err == nil) != c.right {
			t.Errorf("%s: %v", name, err)
		}
	}
}
