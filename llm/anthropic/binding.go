package anthropic

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/stet-dev/stet/internal/rawjson"
)

// Some models check what stands before a block of thinking that comes back to them. Where it has changed, the API refuses the
// request, unless the request asks for such blocks to be dropped.

const (
	bindingBeta = "thinking-binding-controls-2026-08-01"
	dropBlock   = `"block_binding":{"prefix_mismatch_behavior":"drop_block"}`
)

// errDrop says that a request cannot ask for blocks to be dropped, or says itself what is to happen to them.
var errDrop = errors.New("blocks of thinking cannot be dropped")

// RefusesBound reports whether body, of an answer with status 400, says that a block of thinking does not belong to what stands
// before it. The documentation has one sentence for that. A gateway between may have put the provider's error into one of its
// own, so the sentence counts wherever it stands.
func RefusesBound(body []byte) bool {
	return bytes.Contains(body, []byte("block is bound to a different conversation"))
}

var thinkingKeys = [1]string{"thinking"}

// AppendDropping appends to dst the body of a request that asks for blocks of thinking to be dropped that do not belong to
// what stands before them. All other bytes of body stay as they are.
func AppendDropping(dst, body []byte) ([]byte, error) {
	var at [1]rawjson.Span
	s := rawjson.New(body)
	whole := s.Object(thinkingKeys[:], at[:])
	if err := s.End(); err != nil || whole.IsZero() {
		return dst, errors.Join(errDrop, err)
	}
	if at[0].IsZero() && has(body, thinkingKeys[0]) {
		return dst, errDrop // it is null
	}
	if at[0].IsZero() { // these models think unless they are told not to
		return appendMember(dst, body, whole, `"thinking":{"type":"adaptive",`+dropBlock+`}`), nil
	}
	thinking := at[0].Of(body)
	var set [2]rawjson.Span
	s = rawjson.New(thinking)
	s.Object([]string{"type", "block_binding"}, set[:])
	if s.End() != nil || at[0].KindOf(body) != '{' || !set[1].IsZero() || rawjson.Is(thinking, set[0], "disabled") {
		return dst, errDrop
	}
	return appendMember(dst, body, at[0], dropBlock), nil
}

// has reports whether an object has a member of a name, whatever it is.
func has(object []byte, name string) bool {
	found := false
	s := rawjson.New(object)
	for s.Enter('{'); s.Next(); s.Skip() {
		found = found || string(s.Key()) == name
	}
	return found
}

// appendMember appends body to dst, with one more member in the object at a place.
func appendMember(dst, body []byte, object rawjson.Span, member string) []byte {
	inside := bytes.TrimSpace(body[object.Start+1 : object.End-1])
	dst = append(dst, body[:object.End-1]...)
	if len(inside) > 0 {
		dst = append(dst, ',')
	}
	dst = append(dst, member...)
	return append(dst, body[object.End-1:]...)
}

// AllowDropping adds to the headers of a request what AppendDropping needs.
func AllowDropping(h http.Header) { addBeta(h, bindingBeta) }

// addBeta adds a feature to those that the headers of a request ask for.
func addBeta(h http.Header, beta string) {
	const name = "Anthropic-Beta"
	values := h.Values(name)
	for _, v := range values {
		if slices.ContainsFunc(strings.Split(v, ","), func(v string) bool { return strings.TrimSpace(v) == beta }) {
			return
		}
	}
	if len(values) == 0 {
		h.Set(name, beta)
		return
	}
	values = slices.Clone(values)
	values[len(values)-1] += "," + beta
	h[name] = values
}
