package agent

import (
	"time"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/tokens"
	"github.com/stet-dev/stet/tool"
)

// EventKind says what an Event tells.
type EventKind uint8

// The kinds of events.
const (
	Asking       EventKind = iota // a request goes out; Fill and Plan say what is in it
	Piece                         // Piece came of the answer
	Answered                      // Message is the whole answer, stored; Usage what it used
	CallBegins                    // Call is run
	CallEnds                      // Call came to Result, stored, after Took
	Changed                       // Text tells the model which files (Paths) another program changed
	Warned                        // the window is filled past Limits.Warn; Fill says by what
	Compacting                    // a summary is asked for
	Compacted                     // the conversation goes on in session To, with a summary of Text
	NotCompacted                  // Err says why; what does not fit is left out of the request instead
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
	Plan    history.Stats
	Paths   []string
	Text    string
	To      string
	Task    string // the session of the sub-agent that it happened to, "" where it was this one
	Err     error
}

// Outcome is how a Run ended.
type Outcome struct {
	End   End       // why no further request was made
	Stop  llm.Stop  // why the last answer ended
	Text  string    // of the last answer
	Turns int       // requests that were answered
	Usage llm.Usage // of all requests, those for summaries and of tasks too
}

// End says why a Run ended.
type End string

// The ends.
const (
	Done    End = ""        // the model has said what it had to say
	Refused End = "refused" // it, or a filter, refused to go on
	Turns   End = "turns"   // Agent.MaxTurns
	Looping End = "looping" // the same calls came to the same results again and again
	CutOff  End = "cut off" // answers were cut off, or empty, several times in a row
	Failed  End = "failed"  // the error says why
)

// Fill is what fills the window.
type Fill struct {
	Window int // tokens that the model takes
	Limit  int // from which on the conversation is compacted
	Used   int // tokens that the next request is expected to have
	Shares []tokens.Share
	Tools  int // tokens of the tools' descriptions; Shares are of messages
	Left   int // tokens that trimming keeps out
}

// Spent is what a conversation has used, its tasks too.
type Spent struct {
	Usage llm.Usage
	USD   float64
	Known bool // the model's prices are known
}
