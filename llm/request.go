package llm

import (
	"slices"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/tool"
)

// Request is one request to a model.
type Request struct {
	Model     string
	Messages  []Message // system text first, as messages of role System
	Tools     []tool.Spec
	MaxTokens int
	Stream    bool

	// Chained means that the request continues a conversation that the provider stores (for example with previous_response_id).
	// Messages then holds only the new messages.
	Chained bool
	// Thread says whether the provider keeps the conversation for a while. ThreadCreate: from this request on. ThreadContinue: it
	// already does, and the request is Chained. Empty: it does not.
	Thread string
	// Previous is the id of the answer that a Chained request continues; empty: it names none.
	Previous string
	// SessionKey is the conversation's key in the body (prompt_cache_key, metadata); empty: there is none.
	SessionKey string

	// Cache asks for prompt caching, for providers that need to be asked; nil asks for none. Decode leaves it nil.
	Cache *Cache

	Layout *Layout // set by Decode; nil: the request has no body

	// Caching is set by Decode and ignored by Encode.
	Caching Caching
}

// The values of Request.Thread.
const (
	ThreadCreate   = "create"
	ThreadContinue = "continue"
)

// WriteTool writes the name, the description and the schema of a tool as members of an open object. The schema is the member
// with the name parameters.
func WriteTool(w *rawjson.Writer, t tool.Spec, parameters string) {
	w.Member("name", t.Name)
	if t.Description != "" {
		w.Member("description", t.Description)
	}
	if len(t.Schema) > 0 {
		w.Key(parameters)
		w.Raw(string(t.Schema), "schema of tool "+t.Name)
	}
}

// Response is the answer of a model.
type Response struct {
	ID         string
	Model      string
	Message    Message
	StopReason string // the provider's word
	Usage      Usage
}

// Edit replaces the text of one part of a request: a tool result, the arguments of a call, or another part with a valid Span. An edit
// of thinking removes it; its Text is empty.
type Edit struct {
	Message, Part int    // indexes into Request.Messages and Message.Parts
	Text          string // of a call: its new Args, which must be a JSON object if the old ones were
}

// Apply returns messages with the edits made. The given messages are not changed. Unedited parts are shared with them.
func Apply(messages []Message, edits []Edit) []Message {
	if len(edits) == 0 {
		return messages
	}
	out := append([]Message(nil), messages...)
	copied := make(map[int]bool, len(edits))
	var removed []Edit
	for _, e := range edits {
		if !copied[e.Message] {
			copied[e.Message] = true
			out[e.Message].Parts = append([]Part(nil), out[e.Message].Parts...)
		}
		switch p := &out[e.Message].Parts[e.Part]; p.Kind {
		case ToolCall:
			p.Args = e.Text
		case Thinking:
			removed = append(removed, e)
		default:
			p.Text = e.Text
		}
	}
	slices.SortFunc(removed, func(a, b Edit) int { return b.Part - a.Part }) // the last of a message first
	for _, e := range removed {
		m := &out[e.Message]
		m.Parts = slices.Delete(m.Parts, e.Part, e.Part+1)
	}
	return out
}
