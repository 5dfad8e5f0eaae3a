package llm

import "github.com/stet-dev/stet/tool"

// Codec knows one wire format: how a request and a response are written, where
// usage stands, and how the agents that speak it tell their conversations
// apart. Codecs have no state; all methods may be called concurrently.
type Codec interface {
	// Decode reads a request body. The spans of the parts are offsets into
	// body. The request shares no memory with body: body may be reused once
	// Decode returns. An error means that the body is not valid JSON or not
	// of the expected shape; the caller then passes it on as it is.
	Decode(body []byte) (*Request, error)

	// DecodeAfter is Decode of a body that may begin as an earlier one did, which
	// it is then faster for. earlier is what Decode or DecodeAfter made of
	// earlierBody. The request is the same that Decode makes, but shares memory with
	// earlier: neither may be changed.
	DecodeAfter(body []byte, earlier *Request, earlierBody []byte) (*Request, error)

	// Encode writes a request. The same request gives the same bytes.
	Encode(req *Request) ([]byte, error)

	// Patch appends to dst the body with the edits made, everything else byte
	// for byte, and returns the extended dst. req is what Decode made of this
	// very body. An edit of a part without a valid Span is an error, and so
	// are two edits of one part; dst then comes back as it was.
	Patch(dst, body []byte, req *Request, edits []Edit) ([]byte, error)

	// DecodeResponse reads a whole answer that was not streamed.
	DecodeResponse(body []byte) (*Response, error)

	// NewMeter returns a Meter for a response with this Content-Type.
	NewMeter(contentType string) Meter

	// UsageOf reads a usage object of this wire format (CTX-1).
	UsageOf(raw []byte) (Usage, error)

	// Session returns the keys by which the agent itself tells its
	// conversations apart, out of the request's headers and body: that of the
	// conversation, and of the sub-agent within it. Empty where there is none.
	// header returns the value of a header, empty where it is not set
	// (http.Header.Get is one).
	Session(header func(name string) string, req *Request) (conversation, agent string)
}

// Offered holds the names of the tools that the request offers.
func (r *Request) Offered() map[string]bool {
	out := make(map[string]bool, len(r.Tools))
	for _, t := range r.Tools {
		out[t.Name] = true
	}
	return out
}

// AddTool adds a tool to what the request offers. schema is a JSON Schema and
// is kept, not copied.
func (r *Request) AddTool(name, description string, schema []byte) {
	r.Tools = append(r.Tools, tool.Spec{Name: name, Description: description, Schema: schema})
}
