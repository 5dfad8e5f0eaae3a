package trim

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/dialect"
)

// State is a conversation as the engine sees it, one message after the other.
// It serves one goroutine. Messages added must not be changed afterwards.
type State struct {
	engine *Engine
	keys   *keys

	messages int       // added
	system   int       // of them, the leading system text
	turns    int       // of the model among them
	bytes    int       // of text in them
	clock    time.Time // the latest of the messages added

	calls    map[string]*callsOfID
	results  []toolResult // in order
	pathless int          // results that look like reads, with no path to be found

	ledger  ledger
	plan    Plan // what was decided so far; not used by keep-latest
	account account
	weighed int   // bytes of the request when a warm break was considered last
	starts  []int // by message: bytes of text before it
	around  []int // by message: see around
	weights []int // by message: of its text
	named   namedPlaces

	given         *given     // how the messages that are added were sent before; nil: they are new
	whole         int        // messages at the beginning that always stay as they are
	callCount     int        // calls of tools in the messages
	cleared       int        // results at the beginning that the provider clears
	behindCleared []sentEdit // how some of them were sent
	unknownResult int        // the first message with the result of a call that was not recognised; math.MaxInt: there is none
	thoughts      thoughts
}

// NewState returns an empty conversation.
func (e *Engine) NewState() *State {
	return &State{
		engine: e,
		keys:   newKeys(e.config.Root),
		calls:  make(map[string]*callsOfID),
		ledger: newLedger(),
		named:  namedPlaces{places: make(map[string]bool)},

		unknownResult: math.MaxInt,
	}
}

// Len returns the number of messages added.
func (st *State) Len() int { return st.messages }

// Add appends messages to the conversation. Local messages are counted, and have
// no other effect.
func (st *State) Add(messages ...llm.Message) {
	st.results = slices.Grow(st.results, len(messages)/2)
	st.ledger.expect(messages)
	for i := range messages {
		m := &messages[i]
		when := m.Time
		if when.IsZero() {
			when = st.clock
		} else if when.After(st.clock) {
			st.clock = when
		}
		st.starts, st.around, st.weights = append(st.starts, st.bytes), append(st.around, around(m)), append(st.weights, 0)
		if !m.Local {
			if m.Role == llm.Assistant {
				st.turn()
			}
			st.thoughts.add(m, st)
			st.addMessage(m, when)
			if m.Role == llm.Assistant {
				st.considerBreak()
			}
		}
		if m.Role == llm.System && st.system == st.messages {
			st.system++
		}
		st.messages++
	}
}

// turn begins a turn of the model, whose message answers a request.
func (st *State) turn() {
	st.countRequest()
	st.turns++
}

func (st *State) addMessage(m *llm.Message, when time.Time) {
	for i := range m.Parts {
		p, at := &m.Parts[i], PartRef{st.messages, i}
		if p.Kind != llm.Thinking { // agents drop it
			st.bytes += len(p.Text) + len(p.Args)
			st.weights[st.messages] += st.engine.weight(p.Text) + st.engine.weight(p.Args)
		}
		switch p.Kind {
		case llm.Text:
			st.addText(m.Role, p.Text)
		case llm.ToolCall:
			st.callCount++
			st.addCall(at, p)
		case llm.ToolResult:
			st.addResult(at, p, when)
		}
	}
}

// addText notes what a text says of the workspace and of places in it.
func (st *State) addText(role llm.Role, text string) {
	if st.engine.deduplicates() {
		switch role {
		case llm.System:
			for word := range dialect.Paths(text) {
				st.named.words = append(st.named.words, strings.Clone(word))
			}
		case llm.User:
			st.named.byPerson(text)
		}
	}
	if role != llm.Assistant && st.keys.root == "" && len(st.results) == 0 {
		st.keys.setRoot(dialect.Root(text))
	}
}

// Plan returns what is left out of the request made of all messages added.
// The plan is the caller's to keep.
func (st *State) Plan() *Plan {
	var p *Plan
	switch st.engine.config.Policy {
	case Off, Finish:
		p = &Plan{Stats: Stats{Reads: st.plan.Reads}}
	case KeepLatest:
		p = st.keepLatest()
	default:
		p = st.plan.Clone()
		st.asSent(p)
		st.withoutThinking(p)
	}
	p.Root = st.keys.root
	return p
}

// Log logs p, the plan of all messages added.
func (st *State) Log(p *Plan) {
	log := st.engine.log
	if st.pathless > 0 {
		log.Debug("reads without a path are kept whole", "results", st.pathless)
	}
	if len(p.Omissions) > 0 {
		log.Info("left out of the request", "results", len(p.Omissions), "paths", p.paths(10),
			"bytes", p.Saved, "tokens", p.Saved*10/36, "dangling", p.Dangling)
	}
}
