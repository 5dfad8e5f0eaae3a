package agent

import (
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/tool"
	"github.com/stet-dev/stet/trim"
)

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
