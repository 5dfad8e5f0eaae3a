package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// Append appends a frame to dst. What Arguments and Result hold is written as it
// is: it has to be a JSON object, or empty.
func Append(dst []byte, f Frame) ([]byte, error) {
	switch f := f.(type) {
	case *ToolCall:
		return f.append(dst), nil
	case *ToolResult:
		return f.append(dst), nil
	}
	body, err := json.Marshal(f)
	if err != nil {
		return dst, fmt.Errorf("%s: %w", TypeOf(f), err)
	}
	dst = append(dst, `{"type":"`...)
	dst = append(dst, TypeOf(f)...)
	if len(body) == len("{}") {
		return append(dst, `"}`...), nil
	}
	dst = append(dst, `",`...)
	return append(dst, body[1:]...), nil
}

// around is room for the keys and the short values of a frame, in bytes.
const around = 256

func (f *ToolCall) append(dst []byte) []byte {
	dst = slices.Grow(dst, len(f.Arguments)+len(f.CallID)+len(f.ToolName)+len(f.Session)+len(f.Client)+around)
	dst = append(dst, `{"type":"tool_call","call_id":`...)
	dst = appendString(dst, f.CallID)
	dst = append(dst, `,"tool_name":`...)
	dst = appendString(dst, f.ToolName)
	dst = append(dst, `,"arguments":`...)
	dst = appendObject(dst, f.Arguments)
	dst = append(dst, `,"requires_confirmation":`...)
	dst = strconv.AppendBool(dst, f.RequiresConfirmation)
	if f.TimeoutSeconds != 0 {
		dst = append(dst, `,"timeout_seconds":`...)
		dst = strconv.AppendInt(dst, int64(f.TimeoutSeconds), 10)
	}
	if f.ApprovalTimeoutSeconds != 0 {
		dst = append(dst, `,"approval_timeout_seconds":`...)
		dst = strconv.AppendInt(dst, int64(f.ApprovalTimeoutSeconds), 10)
	}
	if f.Session != "" {
		dst = append(dst, `,"session":`...)
		dst = appendString(dst, f.Session)
	}
	if f.Client != "" {
		dst = append(dst, `,"client":`...)
		dst = appendString(dst, f.Client)
	}
	if f.PartsFollow {
		dst = append(dst, `,"parts_follow":true`...)
	}
	return append(dst, '}')
}

func (f *ToolResult) append(dst []byte) []byte {
	dst = slices.Grow(dst, len(f.Result)+len(f.CallID)+around)
	dst = append(dst, `{"type":"tool_result","call_id":`...)
	dst = appendString(dst, f.CallID)
	if f.Result != nil {
		dst = append(dst, `,"result":`...)
		dst = appendObject(dst, f.Result)
	}
	if f.Error != "" {
		dst = append(dst, `,"error":`...)
		dst = appendString(dst, f.Error)
	}
	dst = append(dst, `,"needs_confirmation":`...)
	dst = strconv.AppendBool(dst, f.NeedsConfirmation)
	return append(dst, '}')
}

func appendObject(dst []byte, object json.RawMessage) []byte {
	if len(object) == 0 {
		return append(dst, "{}"...)
	}
	return append(dst, object...)
}

// appendString appends a JSON string. Most are ids that need no escapes.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			b, err := json.Marshal(s)
			if err != nil {
				b = []byte(`""`) // strings always marshal
			}
			return append(dst, b...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}
