package anthropic

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stet-dev/stet/internal/rawjson"
)

// The API itself can leave out the results of the oldest tool calls, before the model reads the request ("Context editing",
// clear_tool_uses_20250919). The check of thinking still uses the content that the client sent.

const (
	clearingBeta = "context-management-2025-06-27"
	management   = "context_management"
	clearsCalls  = "clear_tool_uses_20250919"
)

// errClear means that the option cannot be added to a request, or that the request already manages its context.
var errClear = errors.New("results of tools cannot be cleared")

// AppendClearing appends body to dst, with the option to clear the results of tools. If the request has more than the given
// number of calls, the API clears the results of all calls except the last ones. keep is the number of these last calls. All
// other bytes of body stay the same.
func AppendClearing(dst, body []byte, calls, keep int) ([]byte, error) {
	edit := fmt.Sprintf(`{"type":%q,"trigger":{"type":"tool_uses","value":%d},"keep":{"type":"tool_uses","value":%d}}`, clearsCalls, calls, keep)
	var at [1]rawjson.Span
	s := rawjson.New(body)
	whole := s.Object([]string{management}, at[:])
	if err := s.End(); err != nil || whole.IsZero() {
		return dst, errors.Join(errClear, err)
	}
	edits := rawjson.Member(body, at[0], "edits")
	switch {
	case at[0].IsZero() && !has(body, management): // otherwise the member is null
		return appendMember(dst, body, whole, `"`+management+`":{"edits":[`+edit+`]}`), nil
	case at[0].KindOf(body) != '{' || bytes.Contains(at[0].Of(body), []byte(`"clear_tool_uses`)):
	case edits.KindOf(body) == '[':
		return appendMember(dst, body, edits, edit), nil // appendMember works for an array too
	case edits.IsZero() && !has(at[0].Of(body), "edits"):
		return appendMember(dst, body, at[0], `"edits":[`+edit+`]`), nil
	}
	return dst, errClear
}

// clientTools are the types of tools that the client runs, or how they begin.
var clientTools = []string{"custom", "bash_", "text_editor_", "computer_", "memory_"}

// OffersServerTools reports whether a request offers tools that the provider runs.
func OffersServerTools(body []byte) bool {
	var at [2]rawjson.Span
	s := rawjson.New(body)
	s.Object([]string{"tools", "mcp_servers"}, at[:])
	for range rawjson.Elements(body, at[1]) {
		return true
	}
	for tool := range rawjson.Elements(body, at[0]) {
		typ := string(rawjson.Word(body, rawjson.Member(body, tool, "type")))
		if typ != "" && !slices.ContainsFunc(clientTools, func(begin string) bool { return strings.HasPrefix(typ, begin) }) {
			return true
		}
	}
	return false
}

// AllowClearing adds the header that a body of AppendClearing needs, as AllowDropping does.
func AllowClearing(h map[string][]string) { addBeta(h, clearingBeta) }
