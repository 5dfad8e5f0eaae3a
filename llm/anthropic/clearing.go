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
	if at[0].IsZero() {
		if has(body, management) { // the member is null
			return dst, errClear
		}
		return appendMember(dst, body, whole, `"`+management+`":{"edits":[`+edit+`]}`), nil
	}
	if at[0].KindOf(body) != '{' || bytes.Contains(at[0].Of(body), []byte(`"clear_tool_uses`)) {
		return dst, errClear
	}
	var edits [1]rawjson.Span
	s = rawjson.At(body, at[0])
	s.Object(managementKeys[:], edits[:])
	switch {
	case edits[0].KindOf(body) == '[':
		return appendMember(dst, body, edits[0], edit), nil // appendMember works for an array too
	case edits[0].IsZero() && !has(at[0].Of(body), managementKeys[0]):
		return appendMember(dst, body, at[0], `"edits":[`+edit+`]`), nil
	}
	return dst, errClear
}

var (
	serverKeys  = [2]string{"tools", "mcp_servers"}
	clientTools = []string{"custom", "bash_", "text_editor_", "computer_", "memory_"} // types of tools that the client runs, or how they begin
)

// OffersServerTools reports whether a request offers tools that the provider runs.
func OffersServerTools(body []byte) bool {
	var at [2]rawjson.Span
	s := rawjson.New(body)
	s.Object(serverKeys[:], at[:])
	if at[1].KindOf(body) == '[' {
		s = rawjson.At(body, at[1])
		if s.Enter('['); s.Next() {
			return true
		}
	}
	if at[0].KindOf(body) != '[' {
		return false
	}
	s = rawjson.At(body, at[0])
	for s.Enter('['); s.Next(); {
		var kind [1]rawjson.Span
		s.Object(editKeys[:], kind[:])
		typ := string(rawjson.Word(body, kind[0]))
		if typ != "" && !slices.ContainsFunc(clientTools, func(begin string) bool { return strings.HasPrefix(typ, begin) }) {
			return true
		}
	}
	return false
}

// AllowClearing adds the header that a body of AppendClearing needs, as AllowDropping does.
func AllowClearing(h map[string][]string) { addBeta(h, clearingBeta) }

// Cleared returns the number of tool calls whose results were cleared, as the answer says.
func (m *meter) Cleared() int {
	m.Tap.Flush()
	return m.cleared
}

var (
	appliedKeys = [1]string{"applied_edits"}
	clearedKeys = [2]string{"type", "cleared_tool_uses"}
)

// countCleared reads the applied edits that the answer reports.
func (m *meter) countCleared(data []byte, at rawjson.Span) {
	if at.KindOf(data) != '{' {
		return
	}
	var applied [1]rawjson.Span
	s := rawjson.At(data, at)
	s.Object(appliedKeys[:], applied[:])
	if applied[0].KindOf(data) != '[' {
		return
	}
	s = rawjson.At(data, applied[0])
	for s.Enter('['); s.Next(); {
		if s.Kind() != '{' {
			s.Skip()
			continue
		}
		var f [2]rawjson.Span
		s.Object(clearedKeys[:], f[:])
		n := 0
		if rawjson.Is(data, f[0], clearsCalls) {
			n, _ = rawjson.Int(data, f[1])
		}
		m.cleared = max(m.cleared, n)
	}
}
