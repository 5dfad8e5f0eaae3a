package llm

import (
	"cmp"
	"fmt"
	"maps"
)

// The names of the APIs: in records, in keys of the configuration ("upstream-chat") and in what is printed.
const (
	Messages  = "messages"
	Chat      = "chat"
	Responses = "responses"
	Gemini    = "gemini"
)

// The clouds that serve several APIs under paths of their own.
const (
	Vertex  = "vertex"
	Azure   = "azure"
	Bedrock = "bedrock"
)

// API is a wire format and what stet knows of it besides its codec. The packages of the codecs have one for each API, and package
// apis has the table of them.
type API struct {
	Name   string // Messages, Chat, …
	Path   string // of a request for an answer, with the version: "/v1/messages"; "" if the path names the model
	Serves string // the path as documents name it; "": Path
	Codec  Codec
	// CacheRule is the name of the rule by which the prompt cache bills, for models that have none of their own (prices.RuleNamed).
	CacheRule string
	// Error returns the body of an error of this API.
	Error func(e ErrorBody) any

	// Upstream is the base URL of the API's own provider, whose name is Provider. ListPath is the path of its list of models, below Upstream.
	Upstream, Provider, ListPath string
	// URLVariable and KeyVariable are the variables of the environment in which clients of this API find a base URL and a key.
	URLVariable, KeyVariable string

	// What follows is for the client (package endpoint). It has none for an API without Reader.

	// Reader returns a reader for a streamed answer. It passes each piece to emit.
	Reader func(emit func(Event)) Reader
	// EncodeAt writes a request to the given host. Nil: as Codec does, whatever the host.
	EncodeAt func(host string, req *Request) ([]byte, error)
	// Based means that base URLs of this API contain the version, or another path in place of it.
	Based bool
	// KeyHeader is the header that carries the key, after KeyPrefix. Header has the other headers that the API requires.
	KeyHeader, KeyPrefix string
	Header               map[string]string
	// ChecksThinking means that the provider of this API may refuse changes before thinking: see ThinkingChecker.
	ChecksThinking bool
}

// Upstreams are base URLs of endpoints, by the name of an API or of a cloud. One that is missing or empty means the provider's own.
type Upstreams map[string]string

// Or returns u, with what it lacks taken from next.
func (u Upstreams) Or(next Upstreams) Upstreams {
	out := Upstreams{}
	maps.Copy(out, next)
	for name, base := range u {
		out[name] = cmp.Or(base, next[name])
	}
	maps.DeleteFunc(out, func(_, base string) bool { return base == "" })
	return out
}

// ErrorBody is what the body of an error says. Only Status and Message are required.
type ErrorBody struct {
	Status  int
	Type    string // the API's word for the kind of error; "": the usual one for Status
	Code    string // of the error, if the API has codes
	Message string
	Details any // if the API has them
}

// Reader reads the events of one streamed answer.
type Reader interface {
	// Event reads an event, whose name may be empty. It returns an error if the event cannot be read. If the stream reports a
	// failure, the error is a *[Failure].
	Event(name, data []byte) error
	// Done reports whether the answer is complete. Later events are not read.
	Done() bool
	// End is called at the end of the stream. It reports whether the answer is complete.
	End() bool
	// Response returns the answer, or what has arrived of it.
	Response() *Response
}

// Malformed returns the error for an event of a stream that cannot be read because of err.
func Malformed(name []byte, err error) error { return fmt.Errorf("event %.40q: %w", name, err) }
