package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// Encoded is a frame as it is written: its bytes in three pieces, of which Body may
// be the frame's own arguments or result.
type Encoded struct{ Head, Body, Tail []byte }

// Size is the number of bytes.
func (e Encoded) Size() int { return len(e.Head) + len(e.Body) + len(e.Tail) }

// Bytes are all of them in one piece, which may be Head.
func (e Encoded) Bytes() []byte {
	if len(e.Body)+len(e.Tail) == 0 {
		return e.Head
	}
	return e.AppendTo(make([]byte, 0, e.Size()))
}

// AppendTo appends them to dst.
func (e Encoded) AppendTo(dst []byte) []byte {
	return append(append(append(dst, e.Head...), e.Body...), e.Tail...)
}

// large is how large arguments and results are, in bytes, that are not copied into
// the frame.
const large = 4 << 10

// Encode is Append for what goes into a connection: large arguments and results
// are not copied, and not to be changed from then on.
func Encode(f Frame) (Encoded, error) {
	switch f := f.(type) {
	case *ToolCall:
		if len(f.Arguments) >= large {
			head := f.head(nil)
			all := f.tail(head)
			return Encoded{Head: all[:len(head)], Body: f.Arguments, Tail: all[len(head):]}, nil
		}
	case *ToolResult:
		if len(f.Result) >= large {
			head := f.head(nil)
			all := f.tail(head)
			return Encoded{Head: all[:len(head)], Body: f.Result, Tail: all[len(head):]}, nil
		}
	}
	b, err := Append(nil, f)
	return Encoded{Head: b}, err
}

// Append appends a frame to dst. What Arguments and Result hold is written as it
// is: it has to be a JSON object, or empty.
func Append(dst []byte, f Frame) ([]byte, error) {
	switch f := f.(type) {
	case *ToolCall:
		dst = slices.Grow(dst, len(f.Arguments)+len(f.CallID)+len(f.ToolName)+len(f.Session)+len(f.Client)+around)
		return f.tail(appendObject(f.head(dst), f.Arguments)), nil
	case *ToolResult:
		dst = slices.Grow(dst, len(f.Result)+len(f.CallID)+around)
		if f.Result == nil {
			return f.tail(f.start(dst)), nil
		}
		return f.tail(appendObject(f.head(dst), f.Result)), nil
	case *Part:
		return f.append(dst), nil
	case *Ack:
		dst = append(dst, `{"type":"ack","received":`...)
		return append(strconv.AppendUint(dst, f.Received, 10), '}'), nil
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

// head is what stands before the arguments.
func (f *ToolCall) head(dst []byte) []byte {
	dst = slices.Grow(dst, len(f.CallID)+len(f.ToolName)+len(f.Session)+len(f.Client)+around)
	dst = append(dst, `{"type":"tool_call","call_id":`...)
	dst = appendString(dst, f.CallID)
	dst = append(dst, `,"tool_name":`...)
	dst = appendString(dst, f.ToolName)
	return append(dst, `,"arguments":`...)
}

// tail is what stands behind them.
func (f *ToolCall) tail(dst []byte) []byte {
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
	if f.TakesParts {
		dst = append(dst, `,"takes_parts":true`...)
	}
	return append(dst, '}')
}

func (f *ToolResult) start(dst []byte) []byte {
	dst = slices.Grow(dst, len(f.CallID)+around)
	dst = append(dst, `{"type":"tool_result","call_id":`...)
	return appendString(dst, f.CallID)
}

// head is what stands before the result.
func (f *ToolResult) head(dst []byte) []byte { return append(f.start(dst), `,"result":`...) }

// tail is what stands behind it.
func (f *ToolResult) tail(dst []byte) []byte {
	if f.Error != "" {
		dst = append(dst, `,"error":`...)
		dst = appendString(dst, f.Error)
	}
	dst = append(dst, `,"needs_confirmation":`...)
	dst = strconv.AppendBool(dst, f.NeedsConfirmation)
	return append(dst, '}')
}

func (f *Part) append(dst []byte) []byte {
	dst = slices.Grow(dst, base64.StdEncoding.EncodedLen(len(f.Data))+len(f.CallID)+around)
	dst = append(dst, `{"type":"part","call_id":`...)
	dst = appendString(dst, f.CallID)
	dst = append(dst, `,"seq":`...)
	dst = strconv.AppendInt(dst, int64(f.Seq), 10)
	dst = append(dst, `,"data":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, f.Data)
	dst = append(dst, `","last":`...)
	dst = strconv.AppendBool(dst, f.Last)
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
