package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// clientMain is an MCP client: it makes the calls on standard input, one line "TOOL ARGUMENTS" each, and prints their results. Its
// arguments are a server's command line, or a server's URL; then the token is in TOKEN.
func clientMain() {
	ctx := context.Background()
	var transport mcp.Transport
	if strings.HasPrefix(os.Args[1], "http:") {
		transport = &mcp.StreamableClientTransport{Endpoint: os.Args[1], MaxRetries: -1, HTTPClient: &http.Client{Transport: bearer(os.Getenv("TOKEN"))}}
	} else {
		cmd := exec.Command(os.Args[1], os.Args[2:]...)
		cmd.Stderr = os.Stderr
		transport = &mcp.CommandTransport{Command: cmd}
	}
	session, err := newClient(nil).Connect(ctx, transport, nil)
	if err != nil {
		fmt.Println("client:", err)
		os.Exit(9)
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		name, args, _ := strings.Cut(lines.Text(), " ")
		text, err := callTool(ctx, session, name, args)
		if err != nil {
			text = "client: " + err.Error()
		}
		fmt.Println(text)
	}
	_ = session.Close() // the calls are done
}

func newClient(o *mcp.ClientOptions) *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, o)
}

// bearer sends a token with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// callTool calls a tool, waits for the person if needed, and returns the result's text.
func callTool(ctx context.Context, s *mcp.ClientSession, name, args string) (string, error) {
	for {
		res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
		if err != nil {
			return "", err
		}
		text := res.Content[0].(*mcp.TextContent).Text
		id := pendingID(text)
		if id == "" {
			return text, nil
		}
		name, args = "await_result", `{"pending":"`+id+`"}`
	}
}

// pendingID returns the id of a call that waits for a person; "" if the call has ended.
func pendingID(text string) string {
	var r struct {
		Pending string `json:"pending"`
	}
	_ = json.Unmarshal([]byte(text), &r) // text that is not an object is not pending
	return r.Pending
}
