package agent

import (
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/tool"
	"github.com/stet-dev/stet/trim"
)

// What a run reports, and what it has cost.

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds of events.
const (
	Asking       EventKind = iota // a request is sent; Fill and Plan describe it
	Piece                         // Piece of the answer arrived
	Answered                      // Message is the whole stored answer; Usage is its usage
	CallBegins                    // Call starts
	CallEnds                      // Call has its stored Result, after Took
	Changed                       // Text shows the model which files (Paths) another program changed
	Warned                        // the window is filled past Limits.Warn; Fill says by what
	Compacting                    // a summary is requested
	Compacted                     // the conversation continues in session To; Text is the summary
	NotCompacted                  // Err is the reason; messages that do not fit are left out of the request instead
	Reminded                      // Text was added for the model: an answer was cut off, a call repeats itself
)

// Event is something that happened in a Run.
type Event struct {
	Kind    EventKind
	Piece   llm.Event
	Message llm.Message
	Usage   llm.Usage
	Call    llm.Part
	Result  tool.Result
	Took    time.Duration
	Fill    Fill
	Plan    trim.Stats
	Paths   []string
	Text    string
	To      string
	Err     error
}

// Outcome is how a Run ended.
type Outcome struct {
	End   End       // why no further request was made
	Stop  llm.Stop  // why the last answer ended
	Text  string    // of the last answer
	Turns int       // requests that were answered
	Usage llm.Usage // of all requests, including those for summaries
}

// End says why a Run ended.
type End string

// The ends.
const (
	Done    End = ""        // the model made no more calls
	Refused End = "refused" // the model or a filter refused to continue
	Turns   End = "turns"   // Agent.MaxTurns
	Looping End = "looping" // the same calls had the same results again and again
	CutOff  End = "cut off" // answers were cut off, or empty, several times in a row
	Failed  End = "failed"  // Run returns the error
)

// Fill says which parts take how much of the window.
type Fill struct {
	Window int // size of the model's window
	Limit  int // the conversation is compacted above this size
	Used   int // expected tokens of the next request
	Shares []tokens.Share
	Tools  int // tokens of the tools' descriptions; Shares are of messages
	Left   int // tokens left out by trimming
}

// Spent is what a conversation has used.
type Spent struct {
	Usage llm.Usage
	USD   float64
	Known bool // the model's prices are known
}

// bill is what requests used and cost. Every request is stored and counted in one session.
type bill struct {
	used     llm.Usage
	usd      float64
	unpriced bool // the price of some requests is not known
}

func (b bill) plus(o bill) bill {
	return bill{b.used.Add(o.used), b.usd + o.usd, b.unpriced || o.unpriced}
}

// tally is the bill of the counted requests of a session.
type tally struct {
	bill
	of     string
	n      int          // number of counted requests
	priced prices.Model // the model of the last request
	name   string       // the name of that model
}

// add counts the new requests of a session, each at the price of its model.
func (t *tally) add(st session.State) {
	if t.of != st.ID {
		*t = tally{of: st.ID}
	}
	for _, r := range st.Paid[t.n:] {
		if t.name != r.Model {
			t.name = r.Model
			t.priced, _ = prices.Lookup(r.Model)
		}
		usd, known := t.priced.Cost(r.Used)
		t.bill = t.plus(bill{r.Used, usd, !known})
	}
	t.n = len(st.Paid)
}

func billOf(st session.State) bill {
	var t tally
	t.add(st)
	return t.bill
}

// Spent returns what the conversation has used and cost. It includes earlier sessions of the chain, and requests that were
// rewound.
func (c *Conversation) Spent() Spent {
	st := c.State()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tally.add(st)
	b := c.before.plus(c.tally.bill)
	if b.used.IsZero() {
		b.unpriced = !c.a.model.Priced()
	}
	return Spent{Usage: b.used, USD: b.usd, Known: !b.unpriced}
}
