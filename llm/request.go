package llm

import "github.com/stet-dev/stet/tool"

// Request is what is sent to a model on one turn.
type Request struct {
	Model     string
	Messages  []Message // system text first, as messages of role System
	Tools     []tool.Spec
	MaxTokens int
	Stream    bool

	// Chained says that the request continues one the provider stores
	// (previous_response_id): Messages holds only what is new.
	Chained bool
	// Thread says that the provider keeps the conversation for a while: it begins to with
	// this request (ThreadCreate), or has it already (ThreadContinue, which is Chained).
	// Empty: it does not.
	Thread string
	// Previous is the id of the answer that a Chained request goes on from; empty: it names none.
	Previous string
	// SessionKey is the conversation's key that the body itself carries
	// (prompt_cache_key, metadata), empty when there is none.
	SessionKey string

	// Cache asks for prompt caching where a provider wants to be asked; nil
	// does not. Decode leaves it nil.
	Cache *Cache

	// Layout is for the codec that decoded the request: where in the body it
	// stands. It holds no part of the body.
	Layout any

	// Caching is known only of a request that was decoded, and not encoded.
	Caching Caching
}

// The values of Request.Thread.
const (
	ThreadCreate   = "create"
	ThreadContinue = "continue"
)

// Response is a model's answer.
type Response struct {
	ID         string
	Model      string
	Message    Message
	StopReason string // as the provider says it
	Usage      Usage
}

// Edit replaces the text of one part of a request: the result of a tool, the
// arguments of a call, or another part with a valid Span.
type Edit struct {
	Message, Part int    // indexes into Request.Messages and Message.Parts
	Text          string // a call's: its new Args, a JSON object where they were one
}

// Apply returns messages with the edits made. The messages given are not
// changed; what is not edited is shared with them (TRIM-1).
func Apply(messages []Message, edits []Edit) []Message {
	if len(edits) == 0 {
		return messages
	}
	out := append([]Message(nil), messages...)
	copied := make(map[int]bool, len(edits))
	for _, e := range edits {
		if !copied[e.Message] {
			copied[e.Message] = true
			out[e.Message].Parts = append([]Part(nil), out[e.Message].Parts...)
		}
		if p := &out[e.Message].Parts[e.Part]; p.Kind == ToolCall {
			p.Args = e.Text
		} else {
			p.Text = e.Text
		}
	}
	return out
}
