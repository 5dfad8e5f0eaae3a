package anthropic

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/stet-dev/stet/internal/rawjson"
)

// Some models check the content before a block of thinking that is sent back. If that content has changed, the API refuses the
// request, unless the request has the option to drop such blocks.

const (
	bindingBeta = "thinking-binding-controls-2026-08-01"
	dropBlock   = `"block_binding":{"prefix_mismatch_behavior":"drop_block"}`
)

// errDrop means that the option cannot be added to a request, or that the request already sets it.
var errDrop = errors.New("blocks of thinking cannot be dropped")

// RefusesBound reports whether body says that a block of thinking does not belong to the content before it. body is an answer
// with status 400. The API documentation has one sentence for this error. A gateway may put the provider's error into its own, so
// the whole body is searched for the sentence.
func RefusesBound(body []byte) bool {
	return bytes.Contains(body, []byte("block is bound to a different conversation"))
}

// AppendDropping appends body to dst, with the option to drop blocks of thinking that do not belong to the content before them.
// All other bytes of body stay the same.
func AppendDropping(dst, body []byte) ([]byte, error) {
	var at [1]rawjson.Span
	s := rawjson.New(body)
	whole := s.Object([]string{"thinking"}, at[:])
	if err := s.End(); err != nil || whole.IsZero() {
		return dst, errors.Join(errDrop, err)
	}
	if at[0].IsZero() && has(body, "thinking") {
		return dst, errDrop // the member is null
	}
	if at[0].IsZero() { // by default these models think
		return appendMember(dst, body, whole, `"thinking":{"type":"adaptive",`+dropBlock+`}`), nil
	}
	if at[0].KindOf(body) != '{' || !rawjson.Member(body, at[0], "block_binding").IsZero() ||
		rawjson.Is(body, rawjson.Member(body, at[0], "type"), "disabled") {
		return dst, errDrop
	}
	return appendMember(dst, body, at[0], dropBlock), nil
}

// has reports whether an object has a member with this name, even if it is null.
func has(object []byte, name string) bool {
	found := false
	s := rawjson.New(object)
	for s.Enter('{'); s.Next(); s.Skip() {
		found = found || string(s.Key()) == name
	}
	return found
}

// appendMember appends body to dst, with one more member in the object at the given span.
func appendMember(dst, body []byte, object rawjson.Span, member string) []byte {
	inside := bytes.TrimSpace(body[object.Start+1 : object.End-1])
	dst = append(dst, body[:object.End-1]...)
	if len(inside) > 0 {
		dst = append(dst, ',')
	}
	dst = append(dst, member...)
	return append(dst, body[object.End-1:]...)
}

// AllowDropping adds the header that a body of AppendDropping needs to h, whose names are canonical as those of an http.Header.
func AllowDropping(h map[string][]string) { addBeta(h, bindingBeta) }

// addBeta adds a beta feature to the header of a request.
func addBeta(h map[string][]string, beta string) {
	const name = "Anthropic-Beta"
	values := h[name]
	for _, v := range values {
		if slices.ContainsFunc(strings.Split(v, ","), func(v string) bool { return strings.TrimSpace(v) == beta }) {
			return
		}
	}
	if len(values) == 0 {
		h[name] = []string{beta}
		return
	}
	values = slices.Clone(values)
	values[len(values)-1] += "," + beta
	h[name] = values
}
