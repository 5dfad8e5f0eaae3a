package mcpserver

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/tool"
)

const awaitName = "await_result"

// awaitSpec has a short description, because every request of an agent contains it.
func awaitSpec() tool.Spec {
	return tool.Spec{
		Name:        awaitName,
		Description: "Wait for a call that answered \"pending\"; gives its result.",
		Schema:      json.RawMessage(`{"type":"object","properties":{"pending":{"type":"string"}},"required":["pending"],"additionalProperties":false}`),
		ReadOnly:    true,
	}
}

// await answers await_result. The argument "pending" has the value that the call was answered with. The
// result is kept, so await_result can be called again. If the client cancels await_result,
// the call that it waits for continues.
func (s *Server) await(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	place := requestIn(ctx)
	place.begin()
	place.leave() // it only waits
	if req.Params.RequestState != "" {
		return s.resume(ctx, req)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(argumentsOf(req), &fields); err != nil {
		return failure(tool.InvalidArgument, "the arguments are not a JSON object"), nil
	}
	for name := range fields {
		if name != "pending" {
			return failure(tool.InvalidArgument, "unknown argument "+quoted(name)), nil
		}
	}
	var id string
	if err := json.Unmarshal(fields["pending"], &id); err != nil || id == "" {
		return failure(tool.InvalidArgument, `"pending" has to be what the call answered as "pending"`), nil
	}
	r := s.calls.find(s.session(req), func(r *activeCall) bool { return r.isDetached() && r.id == id })
	if r == nil {
		return failure(tool.InvalidArgument, "no call is pending under the id "+quoted(id)), nil
	}
	return s.follow(ctx, req, r, false)
}
