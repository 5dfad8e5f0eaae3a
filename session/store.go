package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Error values. They are wrapped with the session's name.
var (
	// ErrStale means that the session has events that the writer did not know. Nothing was written.
	ErrStale = errors.New("the session has gone on elsewhere")
	// ErrNotFound means that the session does not exist.
	ErrNotFound = errors.New("no such session")
	// ErrCompacted means that the session is closed and another one continues.
	ErrCompacted = errors.New("the session was compacted and is closed")
	// ErrSlow means that a subscription has ended because too many events waited for the subscriber.
	ErrSlow = errors.New("subscriber is too slow")
	// ErrClosed is the error of a closed store.
	ErrClosed = errors.New("session store is closed")
)

// Store keeps events. All methods may be called concurrently. Several processes may open the same store. Results belong to the
// caller. The store keeps no reference to the arguments.
type Store interface {
	// Append adds all batches or none. They are durable when it returns nil. It returns ErrStale if the After of a batch is not the
	// number of the session's last event. A batch that begins a session has After 0 and an Opening as its first event. If ctx
	// ends during the write, Append still waits for the result.
	Append(ctx context.Context, batches ...Batch) error

	// Events returns the events of a session after number after, in order and without damaged ones, and the damage.
	Events(ctx context.Context, id string, after uint64) ([]Event, []Damage, error)

	// List returns the sessions that q selects, the most recently used first.
	List(ctx context.Context, q Query) ([]Info, error)

	// Search returns the events whose Text contains all words, ignoring case, the newest first. limit is the maximum number
	// (0: all). No words find nothing.
	Search(ctx context.Context, words []string, limit int) ([]Hit, error)

	// Close releases the store's resources. It may be called more than once. All later calls of other methods fail with ErrClosed.
	Close() error
}

// Batch is a list of events that one Append adds to a session.
type Batch struct {
	Session string
	After   uint64 // the number of the session's last event; 0: the session is new
	Events  []Event
}

// Damage is a range of events, First to Last, that could not be read.
type Damage struct {
	First, Last uint64
	Why         string
}

func (d Damage) String() string {
	if d.First == d.Last {
		return fmt.Sprintf("event %d: %s", d.First, d.Why)
	}
	return fmt.Sprintf("events %d to %d: %s", d.First, d.Last, d.Why)
}

// Query selects sessions. The zero value selects all.
type Query struct {
	ID     string // sessions whose ID begins with this
	Dir    string // sessions of this workspace
	Source string // sessions imported from there
	Parent string // sessions that come from this one
	Open   bool   // only sessions that are neither compacted nor of sub-agents
	Limit  int    // the maximum number; 0: all
}

// Hit is an event found by a search.
type Hit struct {
	Session string
	Event   Event
}

// Prepared returns the events of a batch as a store keeps them: with number, version and time. A zero time becomes now. It is an
// error if no session can accept the batch.
func (b Batch) Prepared(now time.Time) ([]Event, error) {
	if b.Session == "" || len(b.Events) == 0 {
		return nil, errors.New("a batch needs a session and events")
	}
	out := make([]Event, len(b.Events))
	for i, e := range b.Events {
		e.Seq = b.After + uint64(i) + 1
		if e.Time.IsZero() {
			e.Time = now
		}
		e.Time = e.Time.UTC().Truncate(time.Microsecond)
		e.Version = Format
		_, opens := e.Body.(Opening)
		switch back, ok := e.Body.(Rewind); {
		case e.Body == nil:
			return nil, fmt.Errorf("event %d of session %s has no body", e.Seq, b.Session)
		case opens != (e.Seq == 1):
			return nil, fmt.Errorf("event %d of session %s: the first event is an opening, and no other one is", e.Seq, b.Session)
		case ok && (back.To == 0 || back.To >= e.Seq):
			return nil, fmt.Errorf("event %d of session %s: rewind to %d: there is no such event before it", e.Seq, b.Session, back.To)
		}
		if _, ok := e.Body.(Unknown); ok {
			return nil, fmt.Errorf("event %d of session %s: its kind %q is not known", e.Seq, b.Session, e.Kind())
		}
		out[i] = e
	}
	return out, nil
}

// Matches reports whether the event's text contains all words. The words must be Folded.
func (e Event) Matches(words []string) bool {
	return len(words) > 0 && containsAll(e.Text(), words)
}

// MayMatch reports whether the body of an event, as Encode writes it, may match the words. If it is false, the event does not match.
// The words must be Folded. It is many times faster than decoding the body.
func MayMatch(body string, words []string) bool {
	for _, sign := range []string{`"strings":"` + asBytes, "\u0130", "\u212a", `\u0000`} { // U+0130 and U+212A have a lower case in ASCII; NUL counts as a space
		if strings.Contains(body, sign) {
			return true
		}
	}
	lower := make([]byte, len(body))
	for i := range len(body) {
		c := body[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	for _, w := range words {
		for _, same := range strings.FieldsFunc(w, escapes) {
			if !bytes.Contains(lower, []byte(same)) {
				return false
			}
		}
	}
	return true
}

// escapes reports whether a body may contain a character of a word in an escaped form.
func escapes(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r >= utf8.RuneSelf }

// Stale is the error for a batch that does not follow the last event.
func (b Batch) Stale(last uint64) error {
	if last == 0 {
		return fmt.Errorf("append to session %s: %w", b.Session, ErrNotFound)
	}
	return fmt.Errorf("append to session %s after event %d: %w, to event %d", b.Session, b.After, ErrStale, last)
}
