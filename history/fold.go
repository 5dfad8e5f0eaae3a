package history

import (
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/dialect"
	"github.com/stet-dev/stet/llm"
)

// State is a conversation as the engine sees it, one message after the other.
// It serves one goroutine. Messages added must not be changed afterwards.
type State struct {
	engine *Engine
	keys   *keys
	n      int       // messages added
	skip   int       // of them, the leading system text
	turns  int       // of the model among them
	seen   int       // bytes of them
	clock  time.Time // the latest of the messages added

	calls   map[string]*calls // by call id
	facts   []fact            // results of recognised calls, in order
	ledger  ledger
	account account
	places  places
	named   []string // words of texts that may become places
	heard   []string // words of persons' texts that may name files
	plan    Plan     // what lossless has decided so far
	whole   []Point  // that say which messages stay whole, or where thinking began
	holds   bool     // the messages to come stay whole, up to the next one of the model
	thought int      // facts before the first message of the model with thinking, plus 1; 0: there is none yet
	lost    int      // results that look like reads, with no path to be found
}

// call is a tool call and what it does.
type call struct {
	id       string
	action   dialect.Action
	at       place
	args     string
	editable bool // the arguments can be replaced
}

// calls are the calls of one id. Most agents use an id once; some begin anew
// in each turn, or give two calls of a turn the same.
type calls struct {
	uses    int     // calls of this id so far
	message int     // that made the newest of them
	open    []*call // of that message, not answered yet, in order; the last one stays
	first   call
	room    [1]*call // for open: most ids are used once
}

// fact is what the result of a recognised call says.
type fact struct {
	message, part int
	turn          int // of the model, counted from 1
	call          *call
	text          string
	seen          int       // bytes of the conversation up to here
	when          time.Time // of the message; where it has none, the latest before it
	result        dialect.Result
	reads         []read   // one per file shown; none for a failed result
	points        []string // keys of the files that the agent's own stub says were read before
	ours          bool     // the text is a line of ours already
	marked        bool     // it holds what may be one; else stubs finds none
	normal        string   // text, in the normal form of an output that shows no file
	prints        bool     // an output that may show text of files
	bound         bool     // it has no place in the body, or stays whole: it cannot be shortened
	fixed         bool     // bound, or shortened before: it stays as it is
	verdict       verdict  // of the last moment
}

// read is what a result shows of one file. A file that stands in a batch
// twice is one read with two sections.
type read struct {
	key      string
	path     string // as the agent wrote it
	sections []dialect.Section
	size     int // bytes of text
}

// NewState returns an empty conversation.
func (e *Engine) NewState() *State {
	return &State{
		engine: e,
		keys:   newKeys(e.config.Root),
		calls:  make(map[string]*calls),
		ledger: newLedger(),
		places: make(places),
	}
}

// Len returns the number of messages added.
func (f *State) Len() int { return f.n }

// Add appends messages to the conversation. Local ones are seen but nothing
// in them counts.
func (f *State) Add(messages ...llm.Message) {
	f.facts = slices.Grow(f.facts, len(messages)/2)
	f.ledger.texts = slices.Grow(f.ledger.texts, len(messages)/2)
	f.ledger.index.expected += textBytes(messages) / bytesPerLine
	for i := range messages {
		m := &messages[i]
		when := m.Time
		if when.IsZero() {
			when = f.clock
		} else if when.After(f.clock) {
			f.clock = when
		}
		if !m.Local {
			if m.Role == llm.Assistant {
				f.request()
				f.turns++
				f.holds = false
				if f.thought == 0 && (thinks(m) || f.begins(f.n)) {
					f.thought = len(f.facts) + 1
				}
			}
			f.message(m, when)
		}
		if m.Role == llm.System && f.skip == f.n {
			f.skip++
		}
		f.n++
	}
}

// thinks reports whether a message has thinking in it.
func thinks(m *llm.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Kind == llm.Thinking })
}

// textBytes returns how many bytes of text messages hold.
func textBytes(messages []llm.Message) int {
	n := 0
	for i := range messages {
		for j := range messages[i].Parts {
			n += len(messages[i].Parts[j].Text)
		}
	}
	return n
}

func (f *State) message(m *llm.Message, when time.Time) {
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Kind != llm.Thinking { // agents drop it
			f.seen += len(p.Text) + len(p.Args)
		}
		switch p.Kind {
		case llm.Text:
			switch m.Role {
			case llm.System:
				f.visit(p.Text)
			case llm.User:
				f.hear(p.Text)
			}
			if m.Role != llm.Assistant && f.keys.root == "" && len(f.facts) == 0 {
				f.keys.setRoot(dialect.Root(p.Text))
			}
		case llm.ToolCall:
			f.called(call{
				id: p.CallID, action: f.actionOf(p), at: place{f.n, i}, args: p.Args,
				editable: (!f.engine.config.InPlace || p.Span.Valid()) && !f.stays(),
			})
		case llm.ToolResult:
			f.result(i, p, when)
		}
	}
}

// actionOf is what a call does. Of one that code asked for the model sees no result: it is
// not touched and shows nothing. (WIRE-7)
func (f *State) actionOf(p *llm.Part) dialect.Action {
	if p.ByCode {
		return dialect.Action{}
	}
	return f.engine.table.Action(p.Name, p.Args)
}

// called records a call. Results answer the calls of the newest message that
// used their id, in order.
func (f *State) called(c call) {
	cs := f.calls[c.id]
	if cs == nil {
		cs = &calls{message: f.n, first: c}
		cs.open = append(cs.room[:0], &cs.first)
		f.calls[c.id] = cs
	} else {
		if cs.message != f.n {
			cs.message, cs.open = f.n, cs.open[:0]
		}
		again := c
		cs.open = append(cs.open, &again)
	}
	if cs.uses++; cs.uses == 2 {
		f.ledger.unname(c.id)
	}
}

// answered returns the call that a result of this id answers. One that is not
// known was made just before.
func (f *State) answered(id string) (*call, bool) {
	cs := f.calls[id]
	if cs == nil {
		return &call{id: id, at: place{message: f.n}}, false
	}
	c := cs.open[0]
	if len(cs.open) > 1 {
		cs.open = cs.open[1:]
	}
	return c, true
}

// result records what one result says, and lets lossless decide on it.
func (f *State) result(part int, p *llm.Part, when time.Time) {
	c, known := f.answered(p.CallID)
	fa := fact{message: f.n, part: part, turn: f.turns, call: c, text: p.Text, normal: p.Text, seen: f.seen, when: when}
	fa.bound = f.engine.config.InPlace && !p.Span.Valid() || f.stays()
	fa.fixed = fa.bound
	switch {
	case !known && f.engine.config.ByContent:
		r, ok := f.engine.table.ByContent(p.Text)
		if !ok {
			return
		}
		fa.result, fa.call.action.Op = r, dialect.Read
	case !known || c.action.Op == dialect.Other:
		return
	default:
		fa.result = f.engine.table.Result(c.action, p.Text, p.IsError)
	}
	switch fa.call.action.Op {
	case dialect.Read, dialect.List:
		fa.ours = ours(p.Text)
		fa.reads = f.readsOf(&fa)
		f.plan.Reads += len(fa.reads)
		if len(fa.reads)+len(fa.points) == 0 && !fa.result.Failed && !fa.ours {
			f.lost++
		}
	case dialect.Shell, dialect.Output, dialect.Agent:
		fa.ours = ours(p.Text)
		fa.normal, fa.prints = printed(&fa.call.action, p.Text)
		if fa.call.action.Op == dialect.Shell && fa.call.action.Changes() {
			f.ran(fa.call.action.Command)
			f.ran(strings.ReplaceAll(fa.call.args, `\`, " "))
		}
	case dialect.Edit, dialect.Write:
		for _, t := range fa.call.action.Targets {
			f.named = append(f.named, t.Path)
		}
	}
	fa.marked = strings.Contains(p.Text, mark)
	f.facts = append(f.facts, fa)
	if f.engine.admits() {
		f.admit(&f.facts[len(f.facts)-1])
	}
}

// ours reports whether text is a line of ours and nothing else.
func ours(text string) bool {
	return strings.HasPrefix(text, mark) && !strings.Contains(text, "\n")
}

// readsOf groups what a result shows by file. Where its sections cannot be
// told apart, the call's targets name the files. An agent's own stub shows
// nothing, but points at an earlier read.
func (f *State) readsOf(fa *fact) []read {
	if fa.result.Failed || fa.ours {
		return nil
	}
	var out []read
	at := make(map[string]int, 1)
	add := func(path string) *read {
		k := f.keys.key(path)
		if k == "" {
			return nil
		}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, read{key: k, path: path})
		}
		return &out[i]
	}
	for i := range fa.result.Sections {
		s := &fa.result.Sections[i]
		if s.Failed {
			continue
		}
		if s.Unchanged {
			fa.points = append(fa.points, f.keys.key(s.Path))
			continue
		}
		if r := add(s.Path); r != nil {
			if r.sections == nil {
				r.sections = fa.result.Sections[i : i+1 : i+1]
			} else {
				r.sections = append(r.sections, *s)
			}
			r.size += s.End - s.Start
		}
	}
	if len(fa.result.Sections) == 0 {
		for _, t := range fa.call.action.Targets {
			if fa.result.Unchanged {
				fa.points = append(fa.points, f.keys.key(t.Path))
			} else if r := add(t.Path); r != nil {
				r.size = len(fa.text) / len(fa.call.action.Targets)
			}
		}
	}
	return out
}

// Plan returns what is left out of the request made of all messages added.
// The plan is the caller's to keep.
func (f *State) Plan() *Plan {
	f.request()
	switch f.engine.config.Policy {
	case Off:
		return &Plan{Stats: Stats{Reads: f.plan.Reads}}
	case KeepLatest:
		return f.keepLatest()
	default:
		p := f.plan
		p.Edits = append([]llm.Edit(nil), p.Edits...)
		p.Omissions = append([]Omission(nil), p.Omissions...)
		return &p
	}
}
