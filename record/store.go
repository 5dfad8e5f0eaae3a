package record

import (
	"context"
	"errors"
	"time"
)

// ErrClosed is returned by every call on a closed store or trail.
var ErrClosed = errors.New("record store is closed")

// ErrFull says that a store has no space: its disk is full, or the user's quota on it. Nothing was stored.
var ErrFull = errors.New("no space left for stet's record")

// Batch is a set of rows that are appended together.
type Batch struct {
	Requests []Request
	Trims    []Trim
	Turns    []Turn
	Forms    []SentForm
	Places   []SentPlace // their forms are in Forms, or were appended before
	Refusals []Refusal

	ToolSets  []ToolSet
	ToolCalls []ToolCalls
	Notes     []Note
}

// Len returns the number of rows.
func (b *Batch) Len() int {
	return len(b.Requests) + len(b.Trims) + len(b.Turns) + len(b.Forms) + len(b.Places) + len(b.Refusals) + len(b.ToolSets) + len(b.ToolCalls) + len(b.Notes)
}

// Add adds the rows of more.
func (b *Batch) Add(more Batch) {
	b.Requests, b.Trims, b.Turns = append(b.Requests, more.Requests...), append(b.Trims, more.Trims...), append(b.Turns, more.Turns...)
	b.Forms, b.Places, b.Refusals = append(b.Forms, more.Forms...), append(b.Places, more.Places...), append(b.Refusals, more.Refusals...)
	b.ToolSets, b.ToolCalls, b.Notes = append(b.ToolSets, more.ToolSets...), append(b.ToolCalls, more.ToolCalls...), append(b.Notes, more.Notes...)
}

// Query selects rows. The zero value selects all.
type Query struct {
	From, To     time.Time // From ≤ time < To; zero is open
	Conversation string
	// Tree selects the requests of a conversation and of those whose Root it is. It is for Requests alone.
	Tree string
	// Limit selects the newest rows, or the oldest ones if Oldest is set; 0: all.
	Limit  int
	Oldest bool
}

// Cursor is a place in the order in which a store has numbered its requests.
type Cursor struct {
	Last  int64 // all requests up to this number were returned
	Newer int64 // the newest number at the time At. Smaller ones may be stored a little later
	At    time.Time
}

// atOnce is how many requests Each holds.
const atOnce = 4000

// Each calls fn with each request that q selects, the oldest first. It reads them in parts, so it needs no memory for all of them: fn must
// copy what it keeps. Limit and Oldest of q have no effect.
func Each(ctx context.Context, s interface {
	Requests(ctx context.Context, q Query) ([]Request, error)
}, q Query, fn func(*Request)) error {
	q.Oldest, q.Limit = true, atOnce
	seen := map[string]bool{} // the rows of the time From, which the next part has again
	for {
		rows, err := s.Requests(ctx, q)
		if err != nil {
			return err
		}
		for i := range rows {
			r := &rows[i]
			if seen[r.ID] {
				continue
			}
			if !r.Time.Equal(q.From) {
				clear(seen)
				q.From = r.Time
			}
			seen[r.ID] = true
			fn(r)
		}
		if len(rows) < q.Limit {
			return nil
		}
		q.Limit = atOnce + len(seen)
	}
}

// Store keeps the rows. All methods may be called concurrently. Several processes may have the same store open at once.
//
// Lists are ordered by time, the oldest first, if a method does not say otherwise. Rows with the same time are in the order
// in which they were appended. The caller owns what is returned.
type Store interface {
	// Append adds all of b or nothing. When it returns nil, the rows survive the end of the process. For a row whose key is
	// stored already:
	//
	//   - A Request (key: ID) is dropped.
	//   - A Trim (key: Request, CallID and Reason) is dropped.
	//   - A Turn (key: Prefix, Model, System and Tools) replaces the stored one. The newer time stays.
	//   - A SentForm (key: ID) is dropped.
	//   - A SentPlace (key: Place and Key) replaces the stored one. See SentPlace.Add.
	//   - A Refusal (key: Account) replaces the stored one.
	//   - A ToolSet (key: ID) is dropped.
	//   - ToolCalls (key: Conversation, Agent and Tool) replace the stored ones. The larger Calls stays.
	//   - A Note (key: Kind and Key) replaces the stored one.
	Append(ctx context.Context, b Batch) error

	Requests(ctx context.Context, q Query) ([]Request, error)
	// Arrived returns the requests that were stored since another call has returned a cursor, in no order, and a cursor for the next call.
	// A request may be returned by several calls. The zero cursor is the end of what is stored.
	Arrived(ctx context.Context, since Cursor) ([]Request, Cursor, error)
	Trims(ctx context.Context, q Query) ([]Trim, error)
	// Turns returns the turns with one of these prefixes, and the newest ThreadTurns of each of their threads, in no order. A turn may be
	// returned twice.
	Turns(ctx context.Context, prefixes []uint64) ([]Turn, error)

	// SentForms returns what is stored for places, the newest first, and the forms that they name. It also returns the
	// forms that these forms add to.
	SentForms(ctx context.Context, places []uint64) ([]SentPlace, []SentForm, error)

	// Refuses reports whether a Refusal of an account is stored.
	Refuses(ctx context.Context, account uint64) (bool, error)

	// Tools returns the sets of tools, in no order, and the calls that were counted at or after since.
	Tools(ctx context.Context, since time.Time) ([]ToolSet, []ToolCalls, error)

	// Notes returns the notes of a kind that were not taken back, the oldest first. If keys are given: only those with one of them.
	Notes(ctx context.Context, kind string, keys ...string) ([]Note, error)

	// Prune removes the rows that exceed l. It returns the number of removed requests.
	Prune(ctx context.Context, l Limits) (removed int, err error)

	// Close releases the store's resources. It may be called more than once. After it, every other call fails with
	// ErrClosed.
	Close() error
}

// Limits says how much a store keeps. A zero field means no limit.
type Limits struct {
	Since time.Time // rows older than this are removed
	// Requests and Turns are the numbers of the newest rows that stay. Trims
	// and tool calls that are older than the oldest request that stays are removed. A set of tools is removed if no request
	// names it.
	Requests, Turns int
	// FormBytes is the number of bytes that the newest places and their forms may take. A form counts once for each place
	// that names it. A store may keep a little more. A form stays as long as a place or another form refers to it.
	FormBytes int64
}
