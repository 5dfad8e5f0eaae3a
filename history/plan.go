package history

import "github.com/stet-dev/stet/llm"

// Plan is what is left out of one request.
type Plan struct {
	Edits     []llm.Edit // in the order of the messages
	Omissions []Omission // the same decisions with their reasons, one per Edit
	Stats
}

// Omission is one result, or a call's arguments, that was replaced, and why.
type Omission struct {
	Message, Part int
	CallID        string
	Paths         []string // the files whose content was left out
	Reason        Reason
	Before, After int // bytes of its text
}

// Reason says why a result was shortened.
type Reason string

// The reasons.
const (
	Older    Reason = "older"    // keep-latest: newer reads of the file follow
	Terminal Reason = "terminal" // keep-latest: newer command outputs follow
	Repeat   Reason = "repeat"   // its lines stand above, unchanged
	Restored Reason = "restored" // not shortened: an agent's own stub gave way to the text it is about

	// Admission: what had just arrived.
	Partial Reason = "partial" // only the lines that are not in view
	Output  Reason = "output"  // a command's output: a repeat, or in its normal form

	// Eliding: what had been sent before, at a moment (see Point).
	Replaced  Reason = "replaced"  // a listing or a plan that a newer one follows
	Command   Reason = "command"   // the output of an old command, search or the like
	Arguments Reason = "arguments" // a text that an old call was made with
	Idle      Reason = "idle"      // an old read of a file that nobody has touched for long
)

// Evicts reports whether what was shortened had been sent whole before.
func (r Reason) Evicts() bool {
	switch r {
	case Replaced, Command, Arguments, Idle:
		return true
	}
	return false
}

// Stats counts what a plan saw and did.
type Stats struct {
	Reads    int // successful reads, one per file of a batch
	Repeats  int // of these, reads all of whose lines were in view already
	Dangling int // lines left in place of content that is nowhere in the request (TRIM-16)
	Saved    int // bytes of text left out, net of the lines that stand for it
}
