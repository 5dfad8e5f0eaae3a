// Package llm holds the words of a conversation with a model: messages made of
// parts, the request they are sent in, the response, and what it used.
//
// The same words serve three uses. A [Codec] decodes a provider's request body
// into a [Request] whose parts remember where in the body they stand, so that
// a few of them can be replaced and every other byte left as it was. A reader
// of recorded sessions (transcript) makes them without a body. And an agent
// builds them itself and has a codec encode them.
package llm

import (
	"strings"
	"time"
)

// Role says who speaks in a message.
type Role string

// The roles. A provider's "developer" is System. Results of tools are parts of
// a message of role Tool, also where the wire format puts them into a user
// message.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Kind says what a part is.
type Kind uint8

const (
	Text       Kind = iota // words, in Part.Text
	Thinking               // the model's reasoning; opaque, never changed
	ToolCall               // a call: CallID, Name, Args
	ToolResult             // a call's result: CallID, Text, IsError
	Opaque                 // anything else (images, documents, server tools), never changed
)

// Span is where what can be edited of a part stands in the body it was decoded
// from: the byte offsets of a JSON string literal, quotes included, or of a call's
// arguments where they are a JSON object. The zero Span means that there is
// none, and that the part cannot be edited in place.
type Span struct{ Start, End int }

// Valid reports whether s is a place in a body.
func (s Span) Valid() bool { return s.End > s.Start }

// Part is one piece of a message.
type Part struct {
	Kind    Kind
	Text    string // Text: the words; ToolResult: its text, decoded; Thinking: its text where readable
	CallID  string // ToolCall, ToolResult
	Name    string // ToolCall: the tool's name as the model wrote it
	Args    string // ToolCall: the arguments, a JSON object; free text for a custom tool that takes text
	ByCode  bool   // ToolCall: code asked for it that runs at the provider, and reads the result; the model does not see it
	IsError bool   // ToolResult: the wire format's own error flag (is_error, messageStatus "error")
	Raw     string // Opaque, Thinking: the part's JSON as it was received
	Span    Span   // of Text (Text, ToolResult) or Args (ToolCall) in the body, where it stands there as one value
	Head    string // ToolResult: the beginning of Text that stands before Span, in values of its own: edits leave it as it is
}

// InPlace returns what an edit that makes the part's text, or its arguments, to text writes at Span.
func (p *Part) InPlace(text string) string { return strings.TrimPrefix(text, p.Head) }

// Message is one message of a conversation. Local messages (progress notes and
// the like) belong to the stored session only and are never sent to a model.
type Message struct {
	Role  Role
	Parts []Part
	Local bool

	// The rest is known only for messages out of a recorded session, and for those our own
	// agent makes; Time also where an agent says it in the body. Zero means unknown.
	ID    string
	Time  time.Time
	Model string // the model that wrote an Assistant message
	Usage *Usage // of the request that this Assistant message answered
}
