package recordtest

import (
	"testing"
	"time"

	"github.com/stet-dev/stet/record"
)

func tools(t *testing.T, s record.Store) {
	find := func(since time.Time) (map[uint64][]record.OfferedTool, []record.ToolCalls) {
		t.Helper()
		list, calls, err := s.Tools(t.Context(), since)
		must(t, err)
		sets := map[uint64][]record.OfferedTool{}
		for _, set := range list {
			if _, twice := sets[set.ID]; twice {
				t.Errorf("set %d comes twice", set.ID)
			}
			sets[set.ID] = set.Tools
		}
		return sets, calls
	}
	if sets, calls := find(time.Time{}); len(sets) != 0 || len(calls) != 0 {
		t.Errorf("an empty store has %v, %v", sets, calls)
	}
	const high = 1<<64 - 1
	offered := []record.OfferedTool{{Name: "Read", Tokens: 800}, {Name: `mcp__a__odd"name`, Tokens: 0}}
	calls := func(conversation, agent string, n, minute int) record.ToolCalls {
		return record.ToolCalls{Conversation: conversation, Agent: agent, Tool: "Read", Calls: n, Time: Start.Add(time.Duration(minute) * time.Minute)}
	}
	first, later := Full("r1", "c1", Start), Full("r2", "c1", Start.Add(time.Hour))
	first.ToolSet, later.ToolSet = 7, high
	must(t, s.Append(t.Context(), record.Batch{
		Requests:  []record.Request{first, later},
		ToolSets:  []record.ToolSet{{ID: high, Tools: offered}, {ID: 7}},
		ToolCalls: []record.ToolCalls{calls("c1", "", 3, 0), calls("c1", "a", 1, 61), calls("c2", "", 9, 1)},
	}))
	// A stored set does not change. The larger number of calls stays.
	must(t, s.Append(t.Context(), record.Batch{
		ToolSets:  []record.ToolSet{{ID: high}},
		ToolCalls: []record.ToolCalls{calls("c1", "", 5, 2), calls("c2", "", 2, 62)},
	}))
	sets, all := find(time.Time{})
	same(t, sets[high], offered)
	if len(sets) != 2 || len(sets[7]) != 0 {
		t.Errorf("sets: %v", sets)
	}
	same(t, all, []record.ToolCalls{calls("c1", "", 5, 2), calls("c1", "a", 1, 61), calls("c2", "", 9, 62)})
	_, recent := find(Start.Add(time.Hour))
	same(t, recent, all[1:])

	// Both are removed with their requests.
	_, err := s.Prune(t.Context(), record.Limits{Requests: 1})
	must(t, err)
	sets, left := find(time.Time{})
	same(t, sets, map[uint64][]record.OfferedTool{high: offered})
	same(t, left, all[1:])
}

func notes(t *testing.T, s record.Store) {
	note := func(kind, key, text string, after time.Duration) record.Note {
		return record.Note{Kind: kind, Key: key, Text: text, Time: Start.Add(after)}
	}
	check := func(want ...record.Note) {
		t.Helper()
		got, err := s.Notes(t.Context(), record.NoteStop)
		must(t, err)
		if len(got)+len(want) > 0 {
			same(t, got, want)
		}
	}
	put := func(notes ...record.Note) { must(t, s.Append(t.Context(), record.Batch{Notes: notes})) }
	check()
	put(note(record.NoteStop, "b", "{}", time.Second), note(record.NoteStop, "a", "{}", 2*time.Second), note(record.NoteMeter, "a", "{}", 0))
	check(note(record.NoteStop, "b", "{}", time.Second), note(record.NoteStop, "a", "{}", 2*time.Second))
	got, err := s.Notes(t.Context(), record.NoteStop, "a", "c")
	must(t, err)
	same(t, got, []record.Note{note(record.NoteStop, "a", "{}", 2*time.Second)})
	put(note(record.NoteStop, "b", `{"by":"x"}`, 3*time.Second), note(record.NoteStop, "a", "", 3*time.Second))
	check(note(record.NoteStop, "b", `{"by":"x"}`, 3*time.Second))
	_, err = s.Prune(t.Context(), record.Limits{Since: Start.Add(4 * time.Second)})
	must(t, err)
	check()
}
