package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/tool"
)

const callMethod = "tools/call"

// publish adds the caller's tools to the MCP server, and await_result.
func (s *Server) publish() error {
	for _, spec := range s.config.Caller.Specs() {
		if spec.Name == awaitName && s.config.Await {
			return fmt.Errorf("tool %s: the name is taken by the server", spec.Name)
		}
		if err := s.add(spec, s.call); err != nil {
			return err
		}
	}
	if s.config.Await {
		return s.add(awaitSpec(), s.await)
	}
	return nil
}

func (s *Server) add(spec tool.Spec, handler mcp.ToolHandler) error {
	var schema struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(spec.Schema, &schema); err != nil {
		return fmt.Errorf("tool %s: schema: %w", spec.Name, err)
	}
	if schema.Type != "object" {
		return fmt.Errorf(`tool %s: schema: type is %q, not "object"`, spec.Name, schema.Type)
	}
	destructive, open := spec.Destructive && !spec.ReadOnly, false
	s.mcp.AddTool(&mcp.Tool{
		Name:        spec.Name,
		Description: spec.Description,
		InputSchema: spec.Schema,
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint:    spec.ReadOnly,
			DestructiveHint: &destructive,
			OpenWorldHint:   &open,
		},
	}, handler)
	return nil
}

// receive is called before the SDK's handlers. A request over stdio waits here until it may begin. receive replaces an alias by
// the listed name of the tool. It refuses the methods of features that the server does not declare, because the SDK would answer
// them with empty lists.
func (s *Server) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		turn := arrive(ctx, method)
		if turn != nil {
			if err := turn.wait(ctx); err != nil {
				return nil, err
			}
			if method != callMethod { // call and await decide when the next request may begin
				turn.begin()
			}
			defer turn.begin()
			ctx = context.WithValue(ctx, requestKey{}, turn)
		}
		if r, ok := req.(*mcp.CallToolRequest); ok && r.Params != nil {
			if name, ok := s.config.Aliases[r.Params.Name]; ok {
				r.Params.Name = name
			}
		}
		switch feature, _, _ := strings.Cut(method, "/"); feature {
		case "prompts", "resources", "completion", "logging":
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method not found: %q", method)}
		}
		if method == "initialize" {
			s.initialized(ctx, req.GetSession())
		}
		result, err := next(ctx, method, req)
		return turn.setAside(result), err
	}
}

// resultOf converts the result of a call for the client: only its text.
func resultOf(r tool.Result) *mcp.CallToolResult {
	return textResult(r.Text, r.Failed())
}

func textResult(text string, failed bool) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: failed}
}

// failure returns a failed result of the server itself, in the format of the file tools.
func failure(code tool.Code, message string) *mcp.CallToolResult {
	return textResult(tool.Failure(code, message), true)
}
