// Package gatewaytest has an agent for tests of programs that serve a gateway. It uses the frames of package wire over a WebSocket,
// as an agent in another language does. It does not resume its session.
package gatewaytest

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/server/gateway/wire"
)

// Agent is an agent connected to a gateway. It may be used concurrently.
type Agent struct {
	ws   *websocket.Conn
	over chan struct{} // closed when the connection is lost

	mu     sync.Mutex
	err    error // why the connection was lost
	hosts  map[string]bool
	change chan struct{} // closed when the set of hosts changes
	calls  map[string]chan *wire.ToolResult
	made   int // number of calls made, for unique ids
}

// callSeconds is the time limit of a call, without the time for a person.
const callSeconds = 300

// Connect connects to the gateway at url. workspace is where calls go; "": the only workspace. trusted may be nil. The caller must
// close the agent.
func Connect(ctx context.Context, url, token, workspace string, trusted *tls.Config) (*Agent, error) {
	transport := &http.Transport{TLSClientConfig: trusted, DisableKeepAlives: true}
	ws, _, err := websocket.Dial(ctx, strings.TrimSuffix(url, "/")+"/v1/connect", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}, HTTPClient: &http.Client{Transport: transport},
	})
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(64 << 20)
	a := &Agent{
		ws: ws, over: make(chan struct{}), change: make(chan struct{}),
		hosts: map[string]bool{}, calls: map[string]chan *wire.ToolResult{},
	}
	hello := &wire.Hello{Version: wire.Version, Role: wire.Agent, Client: "agent", Workspace: workspace, Capabilities: []string{wire.CanEvents}}
	if err = a.send(ctx, hello); err == nil {
		err = a.greeted(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, ws.CloseNow())
	}
	go a.read()
	return a, nil
}

// greeted reads the gateway's hello.
func (a *Agent) greeted(ctx context.Context) error {
	f, err := a.next(ctx)
	if err != nil {
		return err
	}
	switch f := f.(type) {
	case *wire.Hello:
		return nil
	case *wire.Error:
		return f
	}
	return fmt.Errorf("the gateway began with %s", wire.TypeOf(f))
}

func (a *Agent) next(ctx context.Context) (wire.Frame, error) {
	_, b, err := a.ws.Read(ctx)
	if err != nil {
		return nil, err
	}
	return wire.Decode(b)
}

func (a *Agent) send(ctx context.Context, f wire.Frame) error {
	b, err := wire.Encode(f)
	if err != nil {
		return err
	}
	return a.ws.Write(ctx, websocket.MessageText, b.Bytes())
}

// read handles the gateway's frames until the connection is lost.
func (a *Agent) read() {
	for {
		f, err := a.next(context.Background())
		a.mu.Lock()
		if err != nil {
			a.err = err
			close(a.over)
			a.mu.Unlock()
			return
		}
		switch f := f.(type) {
		case *wire.ToolResult:
			if !f.NeedsConfirmation || f.Result != nil || f.Error != "" { // otherwise another result follows
				a.end(f)
			}
		case *wire.Error:
			a.end(&wire.ToolResult{CallID: f.CallID, Error: f.Code})
		case *wire.Event:
			if f.Event == wire.HostUp || f.Event == wire.HostDown {
				a.hosts[f.Workspace] = f.Event == wire.HostUp
				close(a.change)
				a.change = make(chan struct{})
			}
		}
		a.mu.Unlock()
	}
}

// end delivers the result of a call. The caller holds mu.
func (a *Agent) end(r *wire.ToolResult) {
	if done := a.calls[r.CallID]; done != nil {
		delete(a.calls, r.CallID)
		done <- r
	}
}

// lost returns why there is no connection.
func (a *Agent) lost() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return fmt.Errorf("the connection is lost: %w", a.err)
}

// AwaitHost waits until the workspace has a host.
func (a *Agent) AwaitHost(ctx context.Context) error {
	for {
		a.mu.Lock()
		change, there := a.change, false
		for _, up := range a.hosts {
			there = there || up
		}
		a.mu.Unlock()
		if there {
			return nil
		}
		select {
		case <-change:
		case <-a.over:
			return a.lost()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Call runs a tool with JSON arguments. The end of ctx does not end the call.
func (a *Agent) Call(ctx context.Context, name, arguments string) (*wire.ToolResult, error) {
	done := make(chan *wire.ToolResult, 1)
	a.mu.Lock()
	a.made++
	id := fmt.Sprint("call-", a.made)
	a.calls[id] = done
	a.mu.Unlock()
	f := &wire.ToolCall{CallID: id, ToolName: name, Arguments: json.RawMessage(arguments), TimeoutSeconds: callSeconds}
	if err := a.send(ctx, f); err != nil {
		return nil, err
	}
	select {
	case r := <-done:
		return r, nil
	case <-a.over:
		return nil, a.lost()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close ends the connection.
func (a *Agent) Close() {
	_ = a.ws.Close(websocket.StatusNormalClosure, "bye") // it may already be lost
}
