package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/tool"
)

// remoteTool is a tool of a server.
type remoteTool struct {
	client *client
	name   string // the name that the server uses
	spec   tool.Spec
}

// Spec implements tool.Tool.
func (r *remoteTool) Spec() tool.Spec { return r.spec }

// Plan implements tool.Tool. The effect of the call is unknown, so the plan shows the arguments.
func (r *remoteTool) Plan(_ context.Context, c tool.Call) (*tool.Plan, error) {
	if len(bytes.TrimSpace(c.Arguments)) == 0 {
		c.Arguments = json.RawMessage("{}")
	}
	shown, ok := legible(c.Arguments)
	if !ok {
		return &tool.Plan{Call: c, Done: &tool.Result{
			CallID: c.ID, Code: tool.InvalidArgument, Text: "The arguments are no JSON object.",
		}}, nil
	}
	return &tool.Plan{
		Call: c, Size: int64(len(c.Arguments)), Diff: tool.Diff{Other: shown}, Notes: []tool.Note{tool.Outside},
		Apply: func(ctx context.Context) (tool.Result, error) { return r.call(ctx, c), nil },
	}, nil
}

// Refuse implements tool.Refuser.
func (r *remoteTool) Refuse(c tool.Call, code tool.Code, message string) tool.Result {
	return tool.Result{CallID: c.ID, Text: message, Code: code}
}

// call lets the server execute the call.
func (r *remoteTool) call(ctx context.Context, c tool.Call) tool.Result {
	failed := func(code tool.Code, format string, a ...any) tool.Result {
		return tool.Result{CallID: c.ID, Code: code, Text: fmt.Sprintf(format, a...)}
	}
	calling, cancel := context.WithTimeout(ctx, r.client.timeout)
	defer cancel()
	res, err := r.client.session.CallTool(calling, &mcp.CallToolParams{Name: r.name, Arguments: c.Arguments})
	var said *jsonrpc.Error
	switch {
	case err == nil:
		out := tool.Result{CallID: c.ID, Text: text(res)}
		if res.IsError {
			out.Code = tool.ToolError
		}
		return out
	case ctx.Err() != nil:
		return failed(tool.Cancelled, "The call was cancelled; it may have been done all the same.")
	case calling.Err() != nil:
		return failed(tool.Timeout, "The MCP server %s did not answer within %v. The call may have been done all the same.", plain(r.client.server.Name), r.client.timeout)
	case r.client.ended(err):
		return failed(tool.HostUnavailable, "%v. The call may have been done all the same.", r.client.errEnded())
	case errors.As(err, &said):
		return failed(tool.ToolError, "The MCP server %s refuses the call: %s", plain(r.client.server.Name), said.Message)
	}
	return failed(tool.HostUnavailable, "The MCP server %s cannot be reached: %v", plain(r.client.server.Name), err)
}

// legible returns a JSON object with indentation, and with an escape in place of every character that could deceive a reader. It
// returns false if object is not a JSON object.
func legible(object json.RawMessage) (string, bool) {
	var b bytes.Buffer
	if !bytes.HasPrefix(bytes.TrimSpace(object), []byte("{")) || json.Indent(&b, bytes.TrimSpace(object), "", "  ") != nil {
		return "", false
	}
	var out strings.Builder
	for _, c := range b.String() {
		switch {
		case c == '\n' || isPlain(c):
			out.WriteRune(c)
		case c > 0xffff:
			fmt.Fprintf(&out, "\\U%08x", c)
		default:
			fmt.Fprintf(&out, "\\u%04x", c)
		}
	}
	return out.String() + "\n", true
}

// text returns a result as text for the model. Content that is not text is replaced by a line that names it.
func text(res *mcp.CallToolResult) string {
	var parts []string
	for _, c := range res.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			parts = append(parts, c.Text)
		case *mcp.ImageContent:
			parts = append(parts, leftOut("an image", c.MIMEType, len(c.Data)))
		case *mcp.AudioContent:
			parts = append(parts, leftOut("audio", c.MIMEType, len(c.Data)))
		case *mcp.ResourceLink:
			parts = append(parts, strings.TrimSpace("["+c.URI+"] "+c.Name))
		case *mcp.EmbeddedResource:
			switch r := c.Resource; {
			case r == nil:
			case r.Blob != nil:
				parts = append(parts, leftOut(r.URI, r.MIMEType, len(r.Blob)))
			default:
				parts = append(parts, r.Text)
			}
		}
	}
	if len(parts) == 0 && res.StructuredContent != nil {
		if b, err := json.Marshal(res.StructuredContent); err == nil {
			return string(b)
		}
	}
	if len(parts) == 0 {
		return "(no output)"
	}
	return strings.Join(parts, "\n")
}

func leftOut(what, kind string, size int) string {
	return fmt.Sprintf("[%s (%s, %d bytes) was returned; it is left out, since only text can be shown]", what, kind, size)
}
