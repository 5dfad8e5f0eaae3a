package wire

import "fmt"

// check validates the values of a frame that has all its keys.
func check(f Frame) error {
	switch f := f.(type) {
	case *Hello:
		return checkTools(f.Tools)
	case *Event:
		return checkTools(f.Tools)
	case *ToolCall:
		if f.ToolName == "" {
			return fmt.Errorf("tool_name is empty")
		}
	case *ToolResult:
		if f.Result == nil && f.Error == "" && !f.NeedsConfirmation {
			return fmt.Errorf("it has neither result nor error, and does not wait for a person")
		}
	case *Progress:
		if f.State != Working && f.State != Waiting {
			return fmt.Errorf("state must be %q or %q, not %.40q", Working, Waiting, f.State)
		}
	case *Part:
		switch {
		case len(f.Data) > PartBytes:
			return fmt.Errorf("data has more than %d bytes", PartBytes)
		case len(f.Data) == 0 && !f.Last:
			return fmt.Errorf("data is empty, and it is not the last part")
		}
	case *Approval:
		return notEmpty("id", f.ID)
	case *Error, *Ack:
		return nil
	}
	return notEmpty("call_id", CallOf(f))
}

// CallOf returns the id of the call that a frame is about, or "".
func CallOf(f Frame) string {
	switch f := f.(type) {
	case *ToolCall:
		return f.CallID
	case *ToolResult:
		return f.CallID
	case *Progress:
		return f.CallID
	case *Part:
		return f.CallID
	case *Taken:
		return f.CallID
	case *Cancel:
		return f.CallID
	}
	return ""
}

func checkTools(tools []Tool) error {
	for _, t := range tools {
		if t.Name == "" || len(t.Schema) == 0 || t.Schema[0] != '{' {
			return fmt.Errorf("tools: each has a name, and a schema that is an object")
		}
	}
	return nil
}

func notEmpty(key, name string) error {
	if name == "" {
		return fmt.Errorf("%s is empty", key)
	}
	return nil
}
