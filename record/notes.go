package record

import (
	"encoding/json"
	"time"
)

// Note is a small value that the processes with one store share.
type Note struct {
	Kind string // NoteMeter, NoteCap, NoteStop or NoteAnew
	Key  string
	Text string    // JSON; empty: the note is taken back
	Time time.Time // stores keep microseconds, in UTC
}

// The kinds of notes.
const (
	// NoteMeter says how much of a subscription is used: a Meter. The key is of the provider, the account and the limit.
	NoteMeter = "meter"
	// NoteCap says that a person's limit is nearly or fully spent: a Cap. The key is of the limit and of what it limits.
	NoteCap = "cap"
	// NoteStop says that a person has stopped a conversation, with all that belongs to it. The key is Request.Tree.
	NoteStop = "stop"
	// NoteAnew says that a session began without what was sent before, as after a compaction. The key is the session.
	NoteAnew = "anew"
)

// Caps returns the states of limits in notes that are not older than a day: a conversation that ended earlier is over.
func Caps(notes []Note, now time.Time) []Cap { return values[Cap](notes, now.AddDate(0, 0, -1)) }

// Meters returns the meters in notes that are not older than a week, the longest time of a subscription's limit.
func Meters(notes []Note, now time.Time) []Meter { return values[Meter](notes, now.AddDate(0, 0, -7)) }

// values returns the values of the notes since a time, without those that another version wrote in another form.
func values[T any](notes []Note, since time.Time) []T {
	all := []T{}
	for _, n := range notes {
		var v T
		if !n.Time.Before(since) && json.Unmarshal([]byte(n.Text), &v) == nil {
			all = append(all, v)
		}
	}
	return all
}

// Meter says how much of a limit of a subscription is used, as the provider says it. It is of the whole account.
type Meter struct {
	Provider string    `json:"provider"`
	Limit    string    `json:"limit"` // "5h", "7d", or as the provider names it
	Used     float64   `json:"used"`  // of 1
	Reset    time.Time `json:"reset,omitzero"`
}

// Cap is the state of a person's limit.
type Cap struct {
	Scope        string  `json:"scope"` // "conversation", "tree" or "day"
	Conversation string  `json:"conversation,omitempty"`
	Agent        string  `json:"agent,omitempty"`
	Client       string  `json:"client,omitempty"`
	Limit        string  `json:"limit"` // as the person gave it
	Spent        string  `json:"spent"` // in the same unit
	Share        float64 `json:"share"` // of 1
	Refused      int     `json:"refused,omitempty"`
	// Over is what the loop of tools that ran when the limit was reached has spent since then.
	Over string `json:"over,omitempty"`
}

// Of says what is limited, for people.
func (c *Cap) Of() string {
	switch c.Scope {
	case "day":
		return "a day"
	case "tree":
		return "a conversation with its sub-agents"
	}
	return "a conversation"
}
