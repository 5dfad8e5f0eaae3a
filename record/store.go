package record

import (
	"context"
	"time"
)

// Batch is what is appended at once.
type Batch struct {
	Requests []Request
	Trims    []Trim
	Turns    []Turn
	Forms    []SentForm
	Places   []SentPlace // after the forms that they name

	ToolSets  []ToolSet
	ToolCalls []ToolCalls
}

// Empty reports whether there is nothing in b.
func (b Batch) Empty() bool {
	return len(b.Requests) == 0 && len(b.Trims) == 0 && len(b.Turns) == 0 && len(b.Forms) == 0 && len(b.Places) == 0 &&
		len(b.ToolSets) == 0 && len(b.ToolCalls) == 0
}

// Query chooses rows. The zero value chooses all.
type Query struct {
	From, To     time.Time // From ≤ time < To; zero is open
	Conversation string
	Mode         Mode
	// Limit keeps the newest Limit rows; 0 keeps all.
	Limit int
}

// Mode chooses between requests that were changed and requests that were only
// observed.
type Mode uint8

// The modes.
const (
	All      Mode = iota
	Applied       // Observe is false
	Observed      // Observe is true
)

// Store keeps the rows. All methods may be called concurrently; several
// processes may have the same store open at once.
//
// Lists come oldest first; rows of the same time in the order in which they
// were appended. What is returned is the caller's.
type Store interface {
	// Append adds all of b or nothing. It is durable against the end of the
	// process when it returns nil. Rows whose key is there already are dropped:
	// a Request's ID; a Trim's Request, CallID and Reason together. A Turn takes
	// the place of the one with its Prefix, whose Moment it keeps. A SentForm whose ID is
	// there is dropped; a SentPlace takes the place of the one with its Place and Form. A ToolSet whose
	// ID is there is dropped; ToolCalls take the place of those with their key, whose Calls stay if they are more.
	Append(ctx context.Context, b Batch) error

	Requests(ctx context.Context, q Query) ([]Request, error)
	Trims(ctx context.Context, q Query) ([]Trim, error)
	// Turns returns the limit newest turns, newest first; those with a Moment
	// have a limit of their own, so that they are not crowded out.
	Turns(ctx context.Context, limit int) ([]Turn, error)

	// TurnsAt returns the turns that have one of these prefixes, newest first.
	TurnsAt(ctx context.Context, prefixes []uint64) ([]Turn, error)

	// SentForms returns what is known of places, newest first, and the forms that they
	// name, with all that these add to.
	SentForms(ctx context.Context, places []uint64) ([]SentPlace, []SentForm, error)

	// Tools returns the sets of tools, in no order, and the calls that were counted at since or later.
	Tools(ctx context.Context, since time.Time) ([]ToolSet, []ToolCalls, error)

	// Prune removes what l does not keep, and returns how many requests
	// that were.
	Prune(ctx context.Context, l Limits) (removed int, err error)

	// Close releases what the store holds. It may be called more than once;
	// every other call after it fails with ErrClosed.
	Close() error
}

// Limits say how much a store keeps. A zero field has no limit.
type Limits struct {
	Since time.Time // what is older goes
	// Requests and Turns are how many of the newest rows stay; turns with a
	// Moment are counted apart. A trim goes with the requests of its time, and
	// so do calls of tools; a set of tools goes once no request names it.
	Requests, Turns int
	// FormBytes is how many bytes the newest places and their forms may take, each form for each place that names it. A store may let
	// a little more stay. A form stays as long as a place names it, or a form that adds to it.
	FormBytes int64
}
