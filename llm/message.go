// Package llm defines the data of a conversation with a model: messages made of parts, the request, the response, and its
// usage.
//
// The types have three uses. A [Codec] decodes a provider's request body into a [Request]. Its parts remember their spans in the
// body, so that some of them can be replaced and every other byte stays the same. The reader of recorded sessions (package
// transcript) makes messages without a body. An agent builds messages itself, and a codec encodes them.
package llm

import (
	"strconv"
	"strings"
	"time"
)

// Role says who a message is from.
type Role string

// The roles. A provider's "developer" is System. Tool results are parts of a message of role Tool, even if the wire format puts
// them into a user message.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Kind is the kind of a part.
type Kind uint8

const (
	Text       Kind = iota // plain text, in Part.Text
	Thinking               // the model's reasoning; opaque: it is only removed as a whole
	ToolCall               // a call: CallID, Name, Args
	ToolResult             // a call's result: CallID, Text, IsError
	Opaque                 // anything else (images, documents, server tools), never changed
)

// String returns the kind in words.
func (k Kind) String() string {
	if names := [...]string{"text", "thinking", "tool call", "tool result", "opaque"}; int(k) < len(names) {
		return names[k]
	}
	return "kind " + strconv.Itoa(int(k))
}

// Span is where a part's editable value is in the body that it was decoded from, as byte offsets. The value is a JSON string literal
// with its quotes, or the arguments of a call if they are a JSON object. Of thinking it is the whole part and the comma after it, up to the
// next part of the message. The zero Span means that the part cannot be edited in place.
type Span struct{ Start, End int }

// Valid reports whether s is in a body.
func (s Span) Valid() bool { return s.End > s.Start }

// Part is one piece of a message.
type Part struct {
	Kind    Kind
	Text    string // Text: the text; ToolResult: its text, decoded; Thinking: its text, if readable
	CallID  string // ToolCall, ToolResult
	Name    string // ToolCall: the tool's name as the model wrote it
	Args    string // ToolCall: the arguments, a JSON object; free text for a custom tool that takes text
	ByCode  bool   // ToolCall: the caller is code that runs at the provider and reads the result; the model does not see the result
	IsError bool   // ToolResult: the wire format's own error flag (is_error, messageStatus "error")
	Raw     string // Opaque, Thinking: the part's JSON as received
	Span    Span   // of Text (Text, ToolResult) or Args (ToolCall) in the body, if it is one value there; of Thinking: see Span
	Head    string // ToolResult: the beginning of Text, in separate values before Span; edits do not change it
}

// InPlace returns the text to write at Span in an edit that sets the part's text or arguments to text.
func (p *Part) InPlace(text string) string { return strings.TrimPrefix(text, p.Head) }

// Message is one message of a conversation. A Local message (for example a progress note) belongs only to the stored session. It is
// never sent to a model.
type Message struct {
	Role  Role
	Parts []Part
	Local bool

	// The fields below are known only for messages of a recorded session and of stet's own agent. Time is also known if an
	// agent sends it in the body. Zero means unknown.
	ID    string
	Time  time.Time
	Model string // the model that wrote an Assistant message
	Usage *Usage // of the request that this Assistant message answered

	Request string // the provider's id of this request
}
