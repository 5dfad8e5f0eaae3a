package session

import (
	"strings"
	"time"

	"github.com/stet-dev/stet/freshness"
	"github.com/stet-dev/stet/llm"
)

// Format is the version of the format in which bodies are written.
const Format = 1

// Event is one thing that happened in a session.
type Event struct {
	Seq     uint64    // its number in the session, from 1; Append gives it
	Time    time.Time // UTC, in microseconds; Append takes the clock's where it is zero
	Version int       // of the format; Append gives it
	Body    Body
}

// Body says what happened. It is one of the types below.
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
	Source  string // where the session was imported from, in the importer's words; empty: it began here
	From    Link   // the session it comes from, zero if none
	Carried uint64 // so many events after this one were taken along from there
}

// Link is a place in another session, and why it is named.
type Link struct {
	Session  string
	Seq      uint64
	Relation Relation
}

// Relation says why a session comes from another one.
type Relation string

// The relations.
const (
	Forked    Relation = "forked"    // it goes another way from there
	Compacted Relation = "compacted" // it goes on with a summary
	Started   Relation = "started"   // a sub-agent's, which the other one started
)

// Message is a message of the conversation. One that is Local is a note for the
// person and never goes to a model. The spans of its parts are not stored: they
// are places in a body that is not there.
type Message llm.Message

// Usage is what a request used whose answer is no message of the session, such
// as one that asked for a summary.
type Usage struct {
	Model string
	Used  llm.Usage
}

// Rewind sets the state to what it was after an earlier event. That event may
// itself have been rewound.
type Rewind struct{ To uint64 }

// Compaction closes the session: the one that it names goes on.
type Compaction struct{ To string }

// Title names the session for people.
type Title string

// File is what was seen of a file.
type File freshness.Observation

// Approval is a decision on a tool call.
type Approval struct {
	CallID   string
	Tool     string
	Path     string
	Decision string // "approved", "rejected", "cancelled", …: the decider's word
	By       string // who decided
	Grant    string // the pattern for which it also holds from now on; empty: this call alone
	Words    string // what the person said
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

// resultText is how much of a tool's result can be searched, in bytes. The rest
// is files and output that stand elsewhere.
const resultText = 16 << 10

// Text returns what a search looks at, in lower case and without NUL: titles,
// the texts of messages, calls with their arguments, and the beginnings of
// results. Reasoning is not among it. It is valid UTF-8, and empty for events
// that say nothing.
func (e Event) Text() string { return Folded(strings.Join(e.texts(), "\n")) }

// Folded is s as searches compare it: valid UTF-8 in lower case without NUL.
func Folded(s string) string {
	return strings.ReplaceAll(strings.ToLower(strings.ToValidUTF8(s, "\uFFFD")), "\x00", " ")
}
