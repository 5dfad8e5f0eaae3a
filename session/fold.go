package session

import (
	"fmt"
	"slices"

	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/llm"
)

// State is the state of a session. Its slices must not be changed. They do not change when events are added later.
type State struct {
	Info
	Carried uint64 // the number of events after the first that were copied from Info.From

	// Messages is the conversation after all rewinds, including its Local messages.
	// Marks has the event number of each.
	Messages []llm.Message
	Marks    []uint64

	Files     []freshness.Observation // observations that were not rewound, for freshness.Fold
	Approvals []Approval              // approvals that were not rewound
	Decided   []uint64                // the event number of each approval
	Rewound   bool                    // since the last rewind or fork there was no message
	Context   llm.Usage               // usage of the newest message that has one: the size of the context

	// Paid is the usage of each answered request of this session, including rewound ones. Spent is their sum. The usage of
	// sub-agents is in their own sessions.
	Paid  []Usage
	Spent llm.Usage

	Damaged []Damage // events that are missing from the state
}

// Fold computes the state of a session from its events, one by one. It may be used by one goroutine. The zero Fold has no events.
//
// The events form a tree: every event names the previous one in its branch. A
// rewind moves the end of the branch to an earlier event and removes nothing.
type Fold struct {
	state State
	items []item // the events that states are made of
	ends  []int  // by event number, from 1: index of the last item of the branch after the event; -1: none
}

type item struct {
	event  Event
	before int // index of the previous item in the branch, or -1
}

// FoldEvents returns the state after the given events.
func FoldEvents(id string, events []Event) State {
	var f Fold
	f.state.ID = id
	f.Add(events...)
	return f.State()
}

// Add adds events, in their order. If a number is missing, the state lists it as damaged.
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

// Miss records events that could not be read. It must be called before later events are added.
func (f *Fold) Miss(damaged ...Damage) {
	for _, d := range damaged {
		f.damage(d)
		f.state.Last = max(f.state.Last, d.Last)
	}
}

// gap skips the events first to last. Events that are not known to be damaged are listed as missing.
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

// end returns the index of the last item of the branch, or -1.
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

// spend counts the usage of a request. Copied events are counted only in their own session.
func (f *Fold) spend(seq uint64, model string, u *llm.Usage) {
	if u == nil || seq <= f.state.Carried+1 {
		return
	}
	f.state.Paid = append(f.state.Paid, Usage{model, *u})
	f.state.Spent = f.state.Spent.Add(*u)
}

// apply adds an event to the state.
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

// rebuild computes the state from the branch that ends with item end.
func (f *Fold) rebuild(end int) {
	s := &f.state
	s.Messages, s.Marks, s.Files, s.Context = nil, nil, nil, llm.Usage{}
	s.Approvals, s.Decided = nil, nil
	for _, e := range f.until(end) {
		f.apply(e)
	}
}

// until returns the events of the branch that ends with item end.
func (f *Fold) until(end int) []Event {
	var out []Event
	for i := end; i >= 0; i = f.items[i].before {
		out = append(out, f.items[i].event)
	}
	slices.Reverse(out)
	return out
}

// State returns the state after all events so far.
func (f *Fold) State() State {
	s := f.state
	s.Messages, s.Marks = slices.Clip(s.Messages), slices.Clip(s.Marks)
	s.Files, s.Approvals, s.Decided = slices.Clip(s.Files), slices.Clip(s.Approvals), slices.Clip(s.Decided)
	s.Paid = slices.Clip(s.Paid)
	return s
}

// InForce returns the events of the conversation after the event number seq: messages, observations of files and
// approvals. If seq is after the newest event, that event is used.
func (f *Fold) InForce(seq uint64) []Event {
	if seq == 0 || len(f.ends) == 0 {
		return nil
	}
	return f.until(f.ends[min(seq, uint64(len(f.ends)))-1])
}
