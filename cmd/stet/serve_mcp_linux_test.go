package main

import (
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpAt connects an MCP client.
func mcpAt(t *testing.T, url, token string) *mcp.ClientSession {
	t.Helper()
	session, err := newClient(nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: url, MaxRetries: -1, HTTPClient: &http.Client{Transport: bearer(token)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // its calls have ended
	return session
}

// ask makes a request, and returns the status and the answer. headers has names and values in turn.
func ask(t *testing.T, method, url, body string, headers ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		} else {
			r.Header.Add(headers[i], headers[i+1])
		}
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// The tools of a remote workspace over MCP: they can be listed, read there, and write there when a person here approves. (FILE-3,
// FILE-4)
func TestServeMCPElsewhere(t *testing.T) {
	h, there := newHome(t), newHome(t)
	s := h.serve(t, "--root", h.tree, "--workspace", "here", "--rate", "0")
	desk := login(t, s.base, h.token(t, "desk", "admin"))
	laptop := h.token(t, "laptop", "host")
	host := there.hosting(t, s.base, laptop)
	write(t, filepath.Join(there.tree, "there.txt"), "elsewhere\n")

	client := mcpAt(t, s.base+"/mcp/there", s.agent)
	own := mcpAt(t, s.base+"/mcp/here", s.agent) // the local workspace's name also works
	listed := func(c *mcp.ClientSession) (names []string) {
		tools, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range tools.Tools {
			names = append(names, spec.Name)
		}
		return names
	}
	if a, b := listed(client), listed(own); !slices.Equal(a, b) || !slices.Contains(a, "await_result") {
		t.Errorf("%v here, %v elsewhere", b, a)
	}
	tells := func(c *mcp.ClientSession, name, args, want string) {
		t.Helper()
		if text, err := callTool(t.Context(), c, name, args); err != nil || !strings.Contains(text, want) {
			t.Errorf("%s %s: %v: %s", name, args, err, text)
		}
	}
	const reads = `{"path":"there.txt"}`
	tells(client, "read_file", reads, `"content":"elsewhere\n"`)
	tells(own, "read_file", reads, "file_not_found")

	r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "write_file", Arguments: json.RawMessage(`{"path":"b.txt","content":"new\n"}`)})
	if err != nil {
		t.Fatal(err)
	}
	id := pendingID(r.Content[0].(*mcp.TextContent).Text)
	if id == "" {
		t.Fatalf("a client that hears no progress waits: %+v", r.Content[0])
	}
	q := desk.question("b.txt")
	if plus(q) != "new\n" || !strings.Contains(q.Client, "(workspace there)") {
		t.Errorf("%+v", q)
	}
	desk.approve(q)
	tells(client, "await_result", `{"pending":"`+id+`"}`, `"success":true`)
	holds(t, filepath.Join(there.tree, "b.txt"), "new\n")
	there.verified(t, 1)
	h.verified(t, 0)

	host.kill() // its clients get an error, and continue when it is back
	waitFor(t, func() bool {
		text, err := callTool(t.Context(), client, "read_file", reads)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(text, `host_unavailable: No host is connected for workspace \"there\".`)
	})
	there.hosting(t, s.base, laptop)
	waitFor(t, func() bool {
		text, err := callTool(t.Context(), client, "read_file", reads)
		return err == nil && strings.Contains(text, "elsewhere")
	})
}

// A request without the right token, or about a workspace without a host, gets an error that says so.
func TestServeMCPRefuses(t *testing.T) {
	h, there := newHome(t), newHome(t)
	s := h.serve(t, "--no-workspace", "--allow-host", "box.example")
	other := func() string {
		out, err := h.stet("token", "create", "other", "--scope", "agent", "--workspace", "other").Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}()
	person := h.token(t, "desk", "admin")
	const begin = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	post := func(path, token string, headers ...string) (int, string) {
		return ask(t, http.MethodPost, s.base+path, begin, append(headers,
			"Authorization", "Bearer "+token, "Content-Type", "application/json", "Accept", "application/json, text/event-stream")...)
	}
	for _, connected := range []bool{false, true} {
		if connected {
			there.hosting(t, s.base, h.token(t, "laptop", "host"))
		}
		for _, c := range []struct {
			what, path, token string
			headers           []string
			before, after     int // status before the host is connected, and after
			says              string
		}{
			{"as it should be", "/mcp/there", s.agent, nil, 503, 200, ""},
			{"by another name of ours", "/mcp/there", s.agent, []string{"Host", "box.example"}, 503, 200, ""},
			{"a workspace that there is not", "/mcp/nowhere", s.agent, nil, 503, 503, "host_unavailable"},
			{"no workspace", "/mcp", s.agent, nil, 404, 404, "/mcp/WORKSPACE"},
			{"nobody's token", "/mcp/there", "stet_nobody", nil, 401, 401, "token"},
			{"a person's token", "/mcp/there", person, nil, 403, 403, "--scope agent"},
			{"a token for another workspace", "/mcp/there", other, nil, 403, 403, `for workspace "other" alone`},
			{"a rebound name", "/mcp/there", s.agent, []string{"Host", "evil.example"}, 403, 403, "not allowed"},
			{"a page elsewhere", "/mcp/there", s.agent, []string{"Origin", "https://evil.example"}, 403, 403, "another origin"},
		} {
			want := c.before
			if connected {
				want = c.after
			}
			if status, text := post(c.path, c.token, c.headers...); status != want || !strings.Contains(text, c.says) && status >= 400 && c.says != "" {
				t.Errorf("%s (connected: %v): %d %s", c.what, connected, status, text)
			}
		}
	}
}
