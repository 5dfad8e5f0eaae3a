package mcpclient

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// role is an environment variable. A test starts this test binary with it. Its value says whether the binary is a server, or a
// faulty program.
const role = "STET_TEST_MCP"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "server":
		err := newServer().Run(context.Background(), &mcp.StdioTransport{})
		if file := os.Getenv("STET_TEST_LAST_WORDS"); file != "" && err == nil {
			time.Sleep(50 * time.Millisecond) // work that the server does before it ends
			err = os.WriteFile(file, []byte("ended well"), 0o600)
		}
		exit(err)
	case "family": // a child process keeps the output open, and ends after the server
		child := exec.Command("sleep", "600")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			exit(err)
		}
		err := os.WriteFile(os.Getenv("STET_TEST_CHILD"), fmt.Append(nil, child.Process.Pid), 0o600)
		exit(errors.Join(err, newServer().Run(context.Background(), &mcp.StdioTransport{})))
	case "mute":
		_, err := io.Copy(io.Discard, os.Stdin)
		exit(err)
	case "muddled": // its list of tools is malformed
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			var m struct {
				ID     *int
				Method string
			}
			if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
				continue
			}
			result := `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"m","version":"1"}}`
			if m.Method == "tools/list" {
				result = `{"tools":[{"name":5}]}`
			}
			fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":%s}\n", *m.ID, result)
		}
		exit(nil)
	case "broken":
		exit(errors.New("no database at /nowhere"))
	}
	goleak.VerifyTestMain(m)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	os.Exit(0)
}

// self returns this test binary as a server. as is its role.
func self(t *testing.T, as string, env ...string) Server {
	t.Helper()
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Server{Name: "tester", Command: name, Dir: t.TempDir(), Env: append(env, role+"="+as, "GORACE=atexit_sleep_ms=0")}
}

type greeting struct {
	Who string `json:"who"`
}

// newServer returns a server with one tool for each kind of result.
func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "tester", Version: "1"}, nil)
	add := func(name string, a *mcp.ToolAnnotations, do func(context.Context, greeting) (*mcp.CallToolResult, error)) {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "does " + name, Annotations: a},
			func(ctx context.Context, _ *mcp.CallToolRequest, g greeting) (*mcp.CallToolResult, any, error) {
				r, err := do(ctx, g)
				return r, nil, err
			})
	}
	content := func(all ...mcp.Content) (*mcp.CallToolResult, error) { return &mcp.CallToolResult{Content: all}, nil }
	add("greet", &mcp.ToolAnnotations{ReadOnlyHint: true}, func(_ context.Context, g greeting) (*mcp.CallToolResult, error) {
		return content(&mcp.TextContent{Text: "hello " + g.Who})
	})
	add("mixed", nil, func(context.Context, greeting) (*mcp.CallToolResult, error) {
		return content(
			&mcp.TextContent{Text: "first"},
			&mcp.ImageContent{MIMEType: "image/png", Data: []byte("12345")},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "x:1", Text: "inside"}},
			&mcp.ResourceLink{URI: "x:2", Name: "a link"},
		)
	})
	add("fail", nil, func(context.Context, greeting) (*mcp.CallToolResult, error) {
		return nil, errors.New("it cannot be done")
	})
	add("die", nil, func(context.Context, greeting) (*mcp.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "out of luck")
		os.Exit(7)
		return nil, nil
	})
	add("wait", nil, func(ctx context.Context, _ greeting) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	gentle := false
	add("tell.me.more", &mcp.ToolAnnotations{DestructiveHint: &gentle}, func(context.Context, greeting) (*mcp.CallToolResult, error) {
		return content()
	})
	return s
}
