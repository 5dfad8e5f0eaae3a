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

// The sentinels. They come wrapped, with the session's name.
var (
	// ErrStale says that the session has other events than the writer knew of.
	// Nothing was written.
	ErrStale = errors.New("the session has gone on elsewhere")
	// ErrNotFound says that there is no such session.
	ErrNotFound = errors.New("no such session")
	// ErrCompacted says that the session is closed: another one goes on.
	ErrCompacted = errors.New("the session was compacted and is closed")
	// ErrSlow says that a subscriber was cut off: too much waits for it.
	ErrSlow = errors.New("subscriber is too slow")
	// ErrClosed is what a closed store answers.
	ErrClosed = errors.New("session store is closed")
)

// Store keeps events. All methods may be called concurrently; several processes
// may have the same store open at once. What is returned is the caller's, and
// what is handed in stays the caller's.
type Store interface {
	// Append adds the batches, all of them or none, and is durable when it
	// returns nil. A batch whose After is not the number of the session's last
	// event is ErrStale; the batch that begins a session has After 0 and an
	// Opening first. When ctx ends while the batches are being written, Append
	// still waits to learn whether they were.
	Append(ctx context.Context, batches ...Batch) error

	// Events returns the events of a session from the one after number after
	// on, in their order, without those that are damaged, and what is damaged.
	Events(ctx context.Context, id string, after uint64) ([]Event, []Damage, error)

	// List returns the sessions that q chooses, the one used last first.
	List(ctx context.Context, q Query) ([]Info, error)

	// Search returns the events in whose Text all words are, in any case of
	// letters, the newest first, and limit at most (0: all). No words find
	// nothing.
	Search(ctx context.Context, words []string, limit int) ([]Hit, error)

	// Close releases what the store holds. It may be called more than once;
	// every other call after it fails with ErrClosed.
	Close() error
}

// Batch is what one Append adds to one session.
type Batch struct {
	Session string
	After   uint64 // the number of the session's last event; 0: there is none
	Events  []Event
}

// Damage is what could not be read of a session: the events First to Last.
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

// Query chooses sessions. The zero value chooses all.
type Query struct {
	ID     string // sessions whose ID begins so
	Dir    string // of this workspace
	Source string // imported from there
	Parent string // that come from this session
	Open   bool   // not those that were compacted, nor those of sub-agents
	Limit  int    // so many at most; 0: all
}

// Hit is an event that a search found.
type Hit struct {
	Session string
	Event   Event
}

// Prepared returns the events of a batch as a store keeps them: with number,
// version, and time, which is now where it is zero. A batch that no session can
// take is an error.
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

// Matches reports whether all words, which are Folded, are in the event's text.
func (e Event) Matches(words []string) bool {
	return len(words) > 0 && containsAll(e.Text(), words)
}

// MayMatch is false only for the body of an event, as Encode writes it, that does not match the
// words, which are Folded. It is many times as fast as to decode the body.
func MayMatch(body string, words []string) bool {
	for _, sign := range []string{`"strings":"` + asBytes, "\u0130", "\u212a", `\u0000`} { // two letters whose lower case is ASCII, and what counts as a space
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

// escapes reports whether a character of a word may be written in another way in a body.
func escapes(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r >= utf8.RuneSelf }

// Stale is the error for a batch that does not follow the last event.
func (b Batch) Stale(last uint64) error {
	if last == 0 {
		return fmt.Errorf("append to session %s: %w", b.Session, ErrNotFound)
	}
	return fmt.Errorf("append to session %s after event %d: %w, to event %d", b.Session, b.After, ErrStale, last)
}
