package session

import (
	"strings"
	"time"

	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/llm"
)

// Format is the version of the format in which Encode writes bodies.
const Format = 1

// Event is one event of a session.
type Event struct {
	Seq     uint64    // number in the session, from 1; set by Append
	Time    time.Time // UTC, in microseconds; Append sets the current time if it is zero
	Version int       // of the format; set by Append
	Body    Body
}

// Body is the content of an event. It is one of the types below.
type Body interface{ kind() Kind }

// Kind is the name of a type of Body.
type Kind string

// The kinds.
const (
	KindOpening    Kind = "opening"
	KindMessage    Kind = "message"
	KindUsage      Kind = "usage"
	KindRewind     Kind = "rewind"
	KindCompaction Kind = "compaction"
	KindTitle      Kind = "title"
	KindFile       Kind = "file"
	KindApproval   Kind = "approval"
)

// Opening is the first event of every session.
type Opening struct {
	Dir     string // the workspace
	Source  string // the origin of an imported session, in the importer's words; "": the session was not imported
	From    Link   // the session it comes from; zero: none
	Carried uint64 // number of events after this one that were copied from there
}

// Link is an event of another session, and the relation to it.
type Link struct {
	Session  string
	Seq      uint64
	Relation Relation
}

// Relation says how a session comes from another one.
type Relation string

// The relations.
const (
	Forked    Relation = "forked"    // it continues differently from there
	Compacted Relation = "compacted" // it continues with a summary
	Started   Relation = "started"   // it is a sub-agent's session, started by the other one
)

// Message is a message of the conversation. A Local message is a note for the person and is never sent to a model. The spans of its parts
// are not stored, because they refer to a body that is not stored.
type Message llm.Message

// Usage is the usage of a request whose answer is not a message of the session, such as a request for a summary.
type Usage struct {
	Model string
	Used  llm.Usage
}

// Rewind sets the state to the state after an earlier event. That event may itself have been rewound.
type Rewind struct{ To uint64 }

// Compaction closes the session. The session that it names continues.
type Compaction struct{ To string }

// Title is a name of the session for people.
type Title string

// File is an observation of a file.
type File freshness.Observation

// Approval is a decision on a tool call.
type Approval struct {
	CallID   string
	Tool     string
	Path     string
	Decision string // "approved", "rejected", "cancelled", …: the word of the person or program that decided
	By       string // who decided
	Grant    string // pattern of later calls that the decision also covers; empty: only this call
	Words    string // the person's text
}

// Unknown is an event that this version cannot read.
type Unknown struct {
	Kind Kind
	JSON string // its body
}

func (Opening) kind() Kind    { return KindOpening }
func (Message) kind() Kind    { return KindMessage }
func (Usage) kind() Kind      { return KindUsage }
func (Rewind) kind() Kind     { return KindRewind }
func (Compaction) kind() Kind { return KindCompaction }
func (Title) kind() Kind      { return KindTitle }
func (File) kind() Kind       { return KindFile }
func (Approval) kind() Kind   { return KindApproval }
func (u Unknown) kind() Kind  { return u.Kind }

// Kind returns the kind of the event's body.
func (e Event) Kind() Kind {
	if e.Body == nil {
		return ""
	}
	return e.Body.kind()
}

// resultText limits the searched bytes of a tool result. The rest is file content and output that also exists elsewhere.
const resultText = 16 << 10

// Text returns the text that a search looks at, in lower case and without NUL: titles, the texts of messages, calls with their arguments,
// and the beginnings of results. Reasoning is not included. The text is valid UTF-8. It is empty for events without text.
func (e Event) Text() string { return Folded(strings.Join(e.texts(), "\n")) }

// Folded returns s in the form that searches compare: valid UTF-8 in lower case without NUL.
func Folded(s string) string {
	return strings.ReplaceAll(strings.ToLower(strings.ToValidUTF8(s, "\uFFFD")), "\x00", " ")
}
