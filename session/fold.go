package session

import (
	"fmt"
	"slices"

	"github.com/stet-dev/stet/freshness"
	"github.com/stet-dev/stet/llm"
)

// State is what a session has come to. Its slices must not be changed; what is
// added to the session later does not change them either.
type State struct {
	Info
	Carried uint64 // so many events after the first were taken along from Info.From

	// Messages is the conversation in force, the messages that are Local among
	// it. Marks has the number of the event of each.
	Messages []llm.Message
	Marks    []uint64

	Files     []freshness.Observation // in force, for freshness.Fold
	Approvals []Approval              // in force
	Decided   []uint64                // the number of the event of each of them
	Rewound   bool                    // nothing was said since the conversation went back to an earlier place, or was forked there
	Context   llm.Usage               // of the newest message in force that has one: the size of the window

	// Paid is what each request of this session used that was answered, those
	// rewound too, and Spent their sum. What sub-agents used is in their sessions.
	Paid  []Usage
	Spent llm.Usage

	Damaged []Damage // what is missing in the state
}

// Fold makes the state of a session out of its events, one after the other. It
// serves one goroutine. The zero Fold has seen nothing.
//
// A rewind does not undo events but goes back to an earlier end: every event
// knows which one was in force before it, so any of them can be gone back to.
type Fold struct {
	state State
	items []item // what bears on the state
	ends  []int  // by number of event, from 1: index of the last item in force after it; -1: none
}

type item struct {
	event  Event
	before int // index of the item in force before this one, or -1
}

// FoldEvents returns the state that events lead to.
func FoldEvents(id string, events []Event) State {
	var f Fold
	f.state.ID = id
	f.Add(events...)
	return f.State()
}

// Add folds events, which must follow those that were added. Where a number is
// missing, the state says so and goes on without the event.
func (f *Fold) Add(events ...Event) {
	for _, e := range events {
		next := uint64(len(f.ends)) + 1
		if e.Seq < next {
			continue // it was added before
		}
		if e.Seq > next {
			f.gap(next, e.Seq-1)
		}
		f.state.Info.Add(e)
		f.add(e)
	}
}

// Miss notes what could not be read. It is called before the events after it
// are added.
func (f *Fold) Miss(damaged ...Damage) {
	for _, d := range damaged {
		f.damage(d)
		f.state.Last = max(f.state.Last, d.Last)
	}
}

// gap goes on without the events first to last. What of them is not known to
// be damaged is missing.
func (f *Fold) gap(first, last uint64) {
	for seq := first; seq <= last; seq++ {
		f.ends = append(f.ends, f.end())
		known := func(d Damage) bool { return d.First <= seq && seq <= d.Last }
		if !slices.ContainsFunc(f.state.Damaged, known) {
			f.damage(Damage{seq, seq, "missing"})
		}
	}
}

func (f *Fold) damage(d Damage) { f.state.Damaged = append(slices.Clip(f.state.Damaged), d) }

// end is the index of the last item in force, or -1.
func (f *Fold) end() int {
	if len(f.ends) == 0 {
		return -1
	}
	return f.ends[len(f.ends)-1]
}

func (f *Fold) add(e Event) {
	end := f.end()
	switch b := e.Body.(type) {
	case Opening:
		f.state.Carried = b.Carried
		f.state.Rewound = b.From.Relation == Forked
	case Usage:
		f.spend(e.Seq, b.Model, &b.Used)
	case Rewind:
		if b.To == 0 || b.To >= e.Seq {
			f.damage(Damage{e.Seq, e.Seq, fmt.Sprintf("a rewind to event %d, which is not before it", b.To)})
			break
		}
		end = f.ends[b.To-1]
		f.rebuild(end)
		f.state.Rewound = true
	case Unknown:
		f.damage(Damage{e.Seq, e.Seq, fmt.Sprintf("written by a newer version (%s, format %d)", b.Kind, e.Version)})
	case Message, File, Approval:
		f.items = append(f.items, item{e, end})
		end = len(f.items) - 1
		f.apply(e)
		if m, ok := b.(Message); ok {
			f.state.Rewound = f.state.Rewound && e.Seq <= f.state.Carried+1
			f.spend(e.Seq, m.Model, m.Usage)
		}
	}
	f.ends = append(f.ends, end)
}

// spend counts what a request used. What was taken along was spent elsewhere.
func (f *Fold) spend(seq uint64, model string, u *llm.Usage) {
	if u == nil || seq <= f.state.Carried+1 {
		return
	}
	f.state.Paid = append(f.state.Paid, Usage{model, *u})
	f.state.Spent = f.state.Spent.Add(*u)
}

// apply puts an event into force.
func (f *Fold) apply(e Event) {
	s := &f.state
	switch b := e.Body.(type) {
	case Message:
		s.Messages = append(s.Messages, llm.Message(b))
		s.Marks = append(s.Marks, e.Seq)
		if b.Usage != nil && !b.Local {
			s.Context = *b.Usage
		}
	case File:
		s.Files = append(s.Files, freshness.Observation(b))
	case Approval:
		s.Approvals = append(s.Approvals, b)
		s.Decided = append(s.Decided, e.Seq)
	}
}

// rebuild puts the items up to end into force, and nothing else.
func (f *Fold) rebuild(end int) {
	s := &f.state
	s.Messages, s.Marks, s.Files, s.Context = nil, nil, nil, llm.Usage{}
	s.Approvals, s.Decided = nil, nil
	for _, e := range f.until(end) {
		f.apply(e)
	}
}

// until returns the events in force where end is the last item.
func (f *Fold) until(end int) []Event {
	var out []Event
	for i := end; i >= 0; i = f.items[i].before {
		out = append(out, f.items[i].event)
	}
	slices.Reverse(out)
	return out
}

// State returns what the events have come to so far.
func (f *Fold) State() State {
	s := f.state
	s.Messages, s.Marks = slices.Clip(s.Messages), slices.Clip(s.Marks)
	s.Files, s.Approvals, s.Decided = slices.Clip(s.Files), slices.Clip(s.Approvals), slices.Clip(s.Decided)
	s.Paid = slices.Clip(s.Paid)
	return s
}

// InForce returns the events that make up the conversation as it was after the
// event numbered seq: messages, observations of files and approvals. Any later
// seq is the newest.
func (f *Fold) InForce(seq uint64) []Event {
	if seq == 0 || len(f.ends) == 0 {
		return nil
	}
	return f.until(f.ends[min(seq, uint64(len(f.ends)))-1])
}
