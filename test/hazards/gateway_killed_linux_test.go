package hazards

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/server/gateway/wire"
)

// connect sends the hello of an agent of the workspace far, in the session main.
func (g *gatewayAt) connect(t testing.TB, resume string, received uint64) (*socket, *wire.Hello) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(g.url, "http")+"/v1/connect",
		&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + g.token}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.CloseNow() }) // it may be closed
	k := &socket{c, t}
	k.send(&wire.Hello{
		Version: wire.Version, Role: wire.Agent, Workspace: "far", Session: "main", Resume: resume, Received: received,
		Capabilities: []string{wire.CanResume, wire.CanEvents},
	})
	return k, until(k, func(*wire.Hello) bool { return true })
}

// until reads frames until one has the type F and is wanted.
func until[F wire.Frame](k *socket, wanted func(F) bool) F {
	k.t.Helper()
	for {
		f, err := k.read()
		if err != nil {
			k.t.Fatal(err)
		}
		if f, ok := f.(F); ok && wanted(f) {
			return f
		}
	}
}

// end returns the error with which the connection ends.
func (k *socket) end() error {
	for {
		if _, err := k.read(); err != nil {
			return err
		}
	}
}

// A gateway is killed while a call waits for a person. The agent gets the results that docs/gateway.md describes, from this
// gateway and from the next one. (FILE-4)
func TestAgentOfKilledGateway(t *testing.T) {
	g := newGatewayAt(t, "")
	g.far.put("a.txt", "one\n")
	g.serve.start()
	g.host.start()
	up := func(e *wire.Event) bool { return e.Event == wire.HostUp && e.Workspace == "far" }
	result := func(id string) func(*wire.ToolResult) bool {
		return func(r *wire.ToolResult) bool { return r.CallID == id }
	}
	read := &wire.ToolCall{CallID: "read", ToolName: "read_file", Arguments: json.RawMessage(`{"path":"a.txt"}`)}
	write := &wire.ToolCall{CallID: "write", ToolName: "write_file", Arguments: json.RawMessage(`{"path":"a.txt","content":"two\n"}`)}
	k, hello := g.connect(t, "", 0)
	if hello.Session != "main" || hello.Resume == "" || hello.Resumed || hello.BeatSeconds != 20 {
		t.Errorf("%+v", hello)
	}
	until(k, up)
	k.send(read)
	if r := until(k, result("read")); r.Error != "" {
		t.Errorf("%+v", r)
	}
	k.send(write)
	if r := until(k, result("write")); !r.NeedsConfirmation {
		t.Errorf("%+v", r)
	}
	k.send(read) // a call_id is accepted once
	if r := until(k, result("read")); r.Error != "invalid_argument" || !strings.Contains(string(r.Result), "was used before") {
		t.Errorf("%s %s", r.Error, r.Result)
	}
	k.send(write)
	if r := until(k, result("write")); r.Error != "invalid_argument" || !strings.Contains(string(r.Result), "is under way") {
		t.Errorf("%s %s", r.Error, r.Result)
	}

	g.serve.kill()
	if err := k.end(); websocket.CloseStatus(err) != -1 {
		t.Errorf("a close frame came: %v", err)
	}
	g.serve.start()
	k, again := g.connect(t, hello.Resume, 5)
	if again.Resumed || again.Received != 0 || again.Session != "main" || again.Resume == "" || again.Resume == hello.Resume {
		t.Errorf("%+v", again)
	}
	until(k, up)
	k.send(write) // the write was not approved, so nothing is written
	if r := until(k, result("write")); r.Error != "cancelled" || !strings.Contains(string(r.Result), "Nothing was written") {
		t.Errorf("%s %s", r.Error, r.Result)
	}
	k.send(read)
	if r := until(k, result("read")); r.Error != "" {
		t.Errorf("%s %s", r.Error, r.Result)
	}
	more := *write
	more.CallID = "another"
	k.send(&more)
	if r := until(k, result("another")); !r.NeedsConfirmation {
		t.Errorf("%+v", r)
	}
	k.send(&wire.Cancel{CallID: "another"})
	if r := until(k, result("another")); r.Error != "cancelled" {
		t.Errorf("%+v", r)
	}
	request, err := http.NewRequest(http.MethodGet, g.url+"/v1/sessions/main/calls/write", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+g.token)
	if response, err := http.DefaultClient.Do(request); err != nil || response.Body.Close() != nil || response.StatusCode != http.StatusNotFound {
		t.Errorf("%+v %v", response, err)
	}
	if got := g.far.get("a.txt"); got != "one\n" {
		t.Errorf("%q", got)
	}

	if err := g.serve.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	until(k, func(e *wire.Event) bool { return e.Event == wire.Draining })
	err = k.end()
	var closed websocket.CloseError
	if !errors.As(err, &closed) || closed.Code != websocket.StatusGoingAway || closed.Reason != "the gateway is shutting down" {
		t.Error(err)
	}
}
