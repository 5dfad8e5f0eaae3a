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
		Schema:      json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"}},"required":["id"],"additionalProperties":false}`),
		ReadOnly:    true,
	}
}

// await answers await_result. It can be called again: the result is kept. When
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
		if name != "id" {
			return failure(tool.InvalidArgument, "unknown argument "+quoted(name)), nil
		}
	}
	var id string
	if err := json.Unmarshal(fields["id"], &id); err != nil || id == "" {
		return failure(tool.InvalidArgument, `"id" has to be the id of a pending call`), nil
	}
	r := s.calls.find(s.session(req), func(r *activeCall) bool { return r.isDetached() && r.id == id })
	if r == nil {
		return failure(tool.InvalidArgument, "no call is pending under the id "+quoted(id)), nil
	}
	return s.follow(ctx, req, r, false)
}
