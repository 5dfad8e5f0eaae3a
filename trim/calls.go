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

// callsOfID are the calls of one id. Most agents use an id once. Some use the same ids again in each turn.
type callsOfID struct {
	uses   int   // calls of this id so far
	newest *call // nil: a message has several, and which one a result answers is not certain, since a result may be missing
	at     int   // the message of the newest
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
	of := st.calls[p.CallID]
	if of == nil {
		of = new(callsOfID)
		st.calls[p.CallID] = of
	}
	if of.uses > 0 && of.at == at.Message {
		c = nil
	}
	of.newest, of.at = c, at.Message
	if of.uses++; of.uses == 2 {
		st.ledger.forgetCall(p.CallID)
	}
}

// callOf returns the call that a result with this id answers: that of the newest message that used the id. A call that is not known is taken
// to be in the message of the result.
func (st *State) callOf(id string) (c *call, known bool) {
	if of := st.calls[id]; of != nil && of.newest != nil {
		return of.newest, true
	}
	return &call{id: id, at: PartRef{Message: st.messages}}, false
}

// shortID returns an id as placeholders write it: without what stands behind a
// bar, which is the provider's own; "" where it is too long to be of use.
func shortID(id string) string {
	if id, _, _ = strings.Cut(id, "|"); len(id) > 48 {
		return ""
	}
	return id
}
