package trim

import (
	"strings"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/dialect"
)

// call is a tool call and what it does.
type call struct {
	id       string
	action   dialect.Action
	at       PartRef
	args     string
	editable bool // the arguments can be replaced
}

// callsOfID are the calls of one id. Most agents use an id once. Some use the same ids again
// in each turn, or give two calls of a turn the same id.
type callsOfID struct {
	uses    int     // calls of this id so far
	message int     // that made the newest of them
	open    []*call // of that message, not answered yet, in order; the last one stays
}

// addCall records a call. The model sees no result of a call that code asked for:
// such a call does nothing here.
func (st *State) addCall(at PartRef, p *llm.Part) {
	c := &call{
		id: p.CallID, at: at, args: p.Args,
		editable: (!st.engine.config.InPlace || p.Span.Valid()) && st.messages >= st.whole,
	}
	if !p.ByCode {
		c.action = st.engine.table.Action(p.Name, p.Args)
	}
	of := st.calls[c.id]
	if of == nil {
		of = new(callsOfID)
		st.calls[c.id] = of
	}
	if of.message != at.Message {
		of.message, of.open = at.Message, nil
	}
	of.open = append(of.open, c)
	if of.uses++; of.uses == 2 {
		st.ledger.forgetCall(c.id)
	}
}

// callOf returns the call that a result with this id answers. Results answer the
// calls of the newest message that used their id, in order. A call that is not known
// is taken to stand in the message of the result.
func (st *State) callOf(id string) (c *call, known bool) {
	of := st.calls[id]
	if of == nil {
		return &call{id: id, at: PartRef{Message: st.messages}}, false
	}
	c = of.open[0]
	if len(of.open) > 1 {
		of.open = of.open[1:]
	}
	return c, true
}

// shortID returns an id as placeholders write it: without what stands behind a
// bar, which is the provider's own; "" where it is too long to be of use.
func shortID(id string) string {
	if id, _, _ = strings.Cut(id, "|"); len(id) > 48 {
		return ""
	}
	return id
}
