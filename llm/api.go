package llm

import "fmt"

// API is a wire format and what stet knows of it besides its codec. The packages of the codecs have one for each API.
type API struct {
	Name  string // "messages"
	Path  string // of a request for an answer, with the version: "/v1/messages"; "" if the path names the model
	Codec Codec

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
