package llm

import "fmt"

// API is a wire format and what stet knows of it besides its codec. The packages of the codecs have one for each API.
type API struct {
	Name  string // "messages"
	Path  string // of a request for an answer, with the version: "/v1/messages"; "" if the path names the model
	Codec Codec
	// CacheRule is the name of the rule by which the prompt cache bills, for models that have none of their own (prices.RuleNamed).
	CacheRule string
	// Error returns the body of an error of this API.
	Error func(e ErrorBody) any

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
