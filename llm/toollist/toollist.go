// Package toollist edits the list of tools in the body of a request, in the wire format of any API.
package toollist

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"github.com/stet-dev/stet/internal/rawjson"
)

// AppendWithout appends the body of a request to dst, without the tools that have one of the names. It appends the body unchanged
// in three cases: the request requires a call of such a tool, a message refers to such a tool, or no tool would be left.
func AppendWithout(dst, body []byte, names map[string]bool) []byte {
	var f [4]rawjson.Span
	s := rawjson.New(body)
	s.Object([]string{"tools", "tool_choice", "toolConfig", "tool_config"}, f[:])
	choice := slices.ContainsFunc(f[1:], func(at rawjson.Span) bool { return refersTo(at.Of(body), names) })
	if s.End() != nil || f[0].KindOf(body) != '[' || choice {
		return append(dst, body...)
	}
	for _, word := range []string{`"tool_reference"`, `"tool_addition"`, `"tool_removal"`} {
		if bytes.Contains(body, []byte(word)) && (refersTo(body[:f[0].Start], names) || refersTo(body[f[0].End:], names)) {
			return append(dst, body...)
		}
	}
	size := len(dst)
	dst = append(dst, body[:f[0].Start]...)
	dst, left, err := appendTools(dst, body, f[0], names)
	if left == 0 || err != nil {
		return append(dst[:size], body...)
	}
	return append(dst, body[f[0].End:]...)
}

// refersTo reports whether text, which is JSON, contains one of the names as a string.
func refersTo(text []byte, names map[string]bool) bool {
	for name := range names {
		if bytes.Contains(text, []byte(strconv.Quote(name))) {
			return true
		}
	}
	return false
}

var toolMembers = [7]string{"name", "function", "custom", "tools", "functionDeclarations", "function_declarations", "cache_control"}

// appendTools appends a list of tools to dst, without the tools that have one of the names. It returns the number of remaining
// elements. The formats of the APIs are similar: an element is a tool, contains one tool (function, custom), or contains a list
// of tools. A tool with a cache marker stays, because the marker applies to everything before it.
func appendTools(dst, body []byte, at rawjson.Span, names map[string]bool) (_ []byte, left int, err error) {
	dst = append(dst, '[')
	s := rawjson.At(body, at)
	for s.Enter('['); s.Next(); {
		var f [len(toolMembers)]rawjson.Span
		element := s.Object(toolMembers[:], f[:])
		name, inner, list := f[0], cmp.Or(f[1], f[2]), cmp.Or(f[3], f[4], f[5])
		if inner.KindOf(body) == '{' {
			t := rawjson.At(body, inner)
			t.Object(toolMembers[:1], f[:1])
			name = f[0]
		}
		begin, n := len(dst), 1
		if left > 0 {
			dst = append(dst, ',')
		}
		switch {
		case list.KindOf(body) == '[':
			dst = append(dst, body[element.Start:list.Start]...)
			dst, n, err = appendTools(dst, body, list, names)
			dst = append(dst, body[list.End:element.End]...)
		case f[6].IsZero() && names[string(rawjson.Word(body, name))]:
			n = 0
		default:
			dst = append(dst, element.Of(body)...)
		}
		if n == 0 {
			dst = dst[:begin]
			continue
		}
		left++
	}
	return append(dst, ']'), left, cmp.Or(err, s.Err())
}
