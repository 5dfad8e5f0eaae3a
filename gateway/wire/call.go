package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/stet-dev/stet/internal/rawjson"
)

// Calls, results, parts and what acknowledges them are most of what is sent, and carry most of its bytes:
// they are read and written without the reflection of the other frames.

// reader reads values of a frame's members; the first error sticks.
type reader struct {
	body []byte
	err  error
}

func (r *reader) wrong(m member, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s must be %s", m.key, want)
	}
}

func (r *reader) text(m member) string {
	lit := m.at.Of(r.body)
	if m.at.KindOf(r.body) == '"' {
		if s, err := rawjson.Unquote(lit); err == nil {
			return s
		}
	}
	r.wrong(m, "a string")
	return ""
}

func (r *reader) flag(m member) bool {
	switch m.at.KindOf(r.body) {
	case 't':
		return true
	case 'f':
		return false
	}
	r.wrong(m, "true or false")
	return false
}

func (r *reader) number(m member) int {
	n, err := strconv.Atoi(string(m.at.Of(r.body)))
	if err != nil || n < 0 {
		r.wrong(m, "a whole number, 0 or more")
	}
	return n
}

// bytes decodes base64, which is written without escapes.
func (r *reader) bytes(m member) []byte {
	lit := m.at.Of(r.body)
	if m.at.KindOf(r.body) == '"' {
		lit = lit[1 : len(lit)-1]
		out := make([]byte, base64.StdEncoding.DecodedLen(len(lit)))
		if n, err := base64.StdEncoding.Strict().Decode(out, lit); err == nil && !bytes.ContainsAny(lit, "\r\n") {
			return out[:n]
		}
	}
	r.wrong(m, "a base64 string")
	return nil
}

func (r *reader) object(m member) json.RawMessage {
	if m.at.KindOf(r.body) != '{' {
		r.wrong(m, "an object")
	}
	return m.at.Of(r.body)
}

func (f *ToolCall) fill(members []member, body []byte) error {
	r := reader{body: body}
	for _, m := range members {
		switch string(m.key) {
		case "call_id":
			f.CallID = r.text(m)
		case "tool_name":
			f.ToolName = r.text(m)
		case "arguments":
			f.Arguments = r.object(m)
		case "requires_confirmation":
			f.RequiresConfirmation = r.flag(m)
		case "timeout_seconds":
			f.TimeoutSeconds = r.number(m)
		case "approval_timeout_seconds":
			f.ApprovalTimeoutSeconds = r.number(m)
		case "session":
			f.Session = r.text(m)
		case "client":
			f.Client = r.text(m)
		case "parts_follow":
			f.PartsFollow = r.flag(m)
		case "takes_parts":
			f.TakesParts = r.flag(m)
		}
	}
	return r.err
}

func (f *ToolResult) fill(members []member, body []byte) error {
	r := reader{body: body}
	for _, m := range members {
		switch string(m.key) {
		case "call_id":
			f.CallID = r.text(m)
		case "result":
			f.Result = r.object(m)
		case "error":
			f.Error = r.text(m)
		case "needs_confirmation":
			f.NeedsConfirmation = r.flag(m)
		}
	}
	return r.err
}

func (f *Part) fill(members []member, body []byte) error {
	r := reader{body: body}
	for _, m := range members {
		switch string(m.key) {
		case "call_id":
			f.CallID = r.text(m)
		case "seq":
			f.Seq = r.number(m)
		case "data":
			f.Data = r.bytes(m)
		case "last":
			f.Last = r.flag(m)
		}
	}
	return r.err
}

func (f *Taken) fill(members []member, body []byte) error {
	r := reader{body: body}
	for _, m := range members {
		switch string(m.key) {
		case "call_id":
			f.CallID = r.text(m)
		case "seq":
			f.Seq = r.number(m)
		}
	}
	return r.err
}

func (f *Ack) fill(members []member, body []byte) error {
	r := reader{body: body}
	for _, m := range members {
		if string(m.key) == "received" {
			f.Received = uint64(r.number(m))
		}
	}
	return r.err
}

// complete says what is missing in a frame that has all its keys.
func complete(f Frame) error {
	switch f := f.(type) {
	case *Hello:
		return toolsComplete(f.Tools)
	case *Event:
		return toolsComplete(f.Tools)
	case *ToolCall:
		if f.ToolName == "" {
			return fmt.Errorf("tool_name is empty")
		}
		return named("call_id", f.CallID)
	case *ToolResult:
		if f.Result == nil && f.Error == "" && !f.NeedsConfirmation {
			return fmt.Errorf("it has neither result nor error, and waits for nobody")
		}
		return named("call_id", f.CallID)
	case *Cancel:
		return named("call_id", f.CallID)
	case *Progress:
		if f.State != Working && f.State != Waiting {
			return fmt.Errorf("state must be %q or %q, not %.40q", Working, Waiting, f.State)
		}
		return named("call_id", f.CallID)
	case *Part:
		switch {
		case len(f.Data) > PartBytes:
			return fmt.Errorf("data has more than %d bytes", PartBytes)
		case len(f.Data) == 0 && !f.Last:
			return fmt.Errorf("data is empty, and it is not the last part")
		}
		return named("call_id", f.CallID)
	case *Taken:
		return named("call_id", f.CallID)
	case *Approval:
		return named("id", f.ID)
	}
	return nil
}

func toolsComplete(tools []Tool) error {
	for _, t := range tools {
		if t.Name == "" || len(t.Schema) == 0 || t.Schema[0] != '{' {
			return fmt.Errorf("tools: each has a name, and a schema that is an object")
		}
	}
	return nil
}

// named says what is wrong with what is to name something.
func named(key, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%s is empty", key)
	case len(name) > maxName:
		return fmt.Errorf("%s has %d bytes, at most %d", key, len(name), maxName)
	}
	return nil
}
