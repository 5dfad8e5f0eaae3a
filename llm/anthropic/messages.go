// Package anthropic speaks the Messages API: what a request and a response
// look like on the wire, and what they say of usage and session.
package anthropic

import (
	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// Messages is the codec of the Messages API (POST /v1/messages and
// /v1/messages/count_tokens). The zero value is ready.
//
// One message on the wire may become several: the results of tools in a user
// message form messages of role Tool, in the order in which they stand. A text
// given as a string and the same text as a list of one block decode alike, and
// cache_control plays no part.
type Messages struct{}

var _ llm.Codec = Messages{}

// Patch implements llm.Codec.
func (Messages) Patch(dst, body []byte, req *llm.Request, edits []llm.Edit) ([]byte, error) {
	placed, err := req.Place(edits)
	if err != nil {
		return dst, err
	}
	patches := make([]rawjson.Patch, len(placed))
	for i, p := range placed {
		patches[i] = rawjson.Patch{Span: rawjson.Span(p.Span), Text: p.Text}
	}
	return rawjson.AppendPatched(dst, body, patches)
}
