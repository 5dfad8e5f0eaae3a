package llm

import "github.com/stet-dev/stet/tool"

// Codec implements one wire format: the formats of requests, responses and usage, and the keys by which agents that use it
// identify their conversations. Codecs have no state; all methods may be called concurrently.
type Codec interface {
	// Decode reads a request body. The spans of the parts are offsets into body. The request shares no memory with body, so body
	// may be reused afterwards. The strings of its messages share blocks of memory of up to 64 KB: clone one that must outlive the request.
	// An error means that the body is not valid JSON or does not have the expected form. The caller
	// then passes the body on unchanged.
	Decode(body []byte) (*Request, error)

	// DecodeAfter is like Decode, but faster for a body that begins like an earlier one. earlier is the result of Decode or
	// DecodeAfter for earlierBody. same is a number of first bytes in which both bodies are known to be equal. The result equals that of
	// Decode, but shares memory with earlier: neither may be changed.
	DecodeAfter(body []byte, earlier *Request, earlierBody []byte, same int) (*Request, error)

	// Encode writes a request. Equal requests give equal bytes.
	Encode(req *Request) ([]byte, error)

	// Patch appends body to dst with the edits made and all other bytes unchanged, and returns the extended dst. req must be
	// the result of Decode for this body. An edit of a part without a valid Span is an error, and so are two edits of one
	// part. On an error dst is returned unchanged.
	Patch(dst, body []byte, req *Request, edits []Edit) ([]byte, error)

	// DecodeResponse reads a whole answer that was not streamed.
	DecodeResponse(body []byte) (*Response, error)

	// NewMeter returns a Meter for a response with this Content-Type.
	NewMeter(contentType string) Meter

	// UsageOf reads a usage object of this wire format.
	UsageOf(raw []byte) (Usage, error)

	// Session returns the agent's own keys of the conversation and of the sub-agent in it, from the request's headers and body.
	// A key is empty if the agent sends none. header returns the value of a header, or "" if it is not set
	// (for example http.Header.Get).
	Session(header func(name string) string, req *Request) (conversation, agent string)
}

// FirstHeader returns the value of the first of names that is set; empty: none is. Codecs find the keys of a conversation with it.
func FirstHeader(header func(name string) string, names ...string) string {
	for _, name := range names {
		if value := header(name); value != "" {
			return value
		}
	}
	return ""
}

// Offered returns the names of the tools that the request offers.
func (r *Request) Offered() map[string]bool {
	out := make(map[string]bool, len(r.Tools))
	for _, t := range r.Tools {
		out[t.Name] = true
	}
	return out
}

// AddTool adds a tool to the request. schema is a JSON Schema; it is kept without a copy.
func (r *Request) AddTool(name, description string, schema []byte) {
	r.Tools = append(r.Tools, tool.Spec{Name: name, Description: description, Schema: schema})
}
