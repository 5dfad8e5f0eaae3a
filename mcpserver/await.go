package mcpserver

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/tool"
)

const awaitName = "await_result"

// awaitSpec is short: every request of an agent carries it.
func awaitSpec() tool.Spec {
	return tool.Spec{
		Name:        awaitName,
		Description: "Wait for a call that answered \"pending\"; gives its result.",
		Schema:      json.RawMessage(`{"type":"object","properties":{"pending":{"type":"string"}},"required":["pending"],"additionalProperties":false}`),
		ReadOnly:    true,
	}
}

// await answers await_result: "pending" is what the call answered. The older name of the
// argument, "id", is understood too. It can be called again: the result is kept. When
// the client cancels it, the call that it waits for goes on.
func (s *Server) await(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	place := requestIn(ctx)
	place.begin()
	place.leave() // it waits, and does no work
	if req.Params.RequestState != "" {
		return s.resume(ctx, req)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(argumentsOf(req), &fields); err != nil {
		return failure(tool.InvalidArgument, "the arguments are not a JSON object"), nil
	}
	for name := range fields {
		if name != "pending" && name != "id" {
			return failure(tool.InvalidArgument, "unknown argument "+quoted(name)), nil
		}
	}
	value := fields["pending"]
	if value == nil {
		value = fields["id"]
	}
	var id string
	if err := json.Unmarshal(value, &id); err != nil || id == "" {
		return failure(tool.InvalidArgument, `"pending" has to be what the call answered as "pending"`), nil
	}
	r := s.calls.find(s.session(req), func(r *activeCall) bool { return r.isDetached() && r.id == id })
	if r == nil {
		return failure(tool.InvalidArgument, "no call is pending under the id "+quoted(id)), nil
	}
	return s.follow(ctx, req, r, false)
}
