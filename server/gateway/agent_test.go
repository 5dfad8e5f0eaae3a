package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// Agent is a client of the gateway's WebSocket, like a client in another language. It is a tool.Caller whose calls are run by a
// workspace's host. Its fields must not be changed once it is connected. A call continues if a lost connection is restored in time.
type Agent struct {
	Dial
	Workspace string // "": the gateway's only workspace
	Session   string // the client session; "": the gateway chooses one
	Client    string // the name that the agent gives in its hello
	Log       *slog.Logger
	// Timeout is the time limit of a call, without the time for a person; 0: 30 s.
	Timeout time.Duration
	// MaxContent is the limit of content in parts, in bytes; 0: 100 MB.
	MaxContent int
	// Waits is called when a call begins to wait for a person, and when it continues; it may be nil.
	Waits func(call string, waiting bool)

	gateway *dialer
	stop    context.CancelFunc
	wg      sync.WaitGroup

	mu      sync.Mutex
	state   error // why no calls can be made; nil: they can
	changed chan struct{}
	tools   map[string][]wire.Tool
	parts   bool // the gateway takes parts
	calls   map[string]*pending
}

// pending is a call that waits for its result.
type pending struct {
	done    chan *wire.ToolResult // of capacity 1
	content assembly              // of the result; used by the reading goroutine
	sent    window                // of its own content
	stop    context.CancelFunc    // ends the sending of its content
}

var _ tool.Caller = (*Agent)(nil)

var (
	errConnecting = errors.New("it is not connected yet")
	errLost       = errors.New("the connection was lost")
)

// Connect connects to the gateway. It returns when the agent is connected, the gateway refuses, or ctx ends. The connection is kept
// until Close, also after the end of ctx.
func (a *Agent) Connect(ctx context.Context) error { return a.connect(ctx, a.dial) }

func (a *Agent) connect(ctx context.Context, dial func(context.Context) (connection, error)) error {
	if a.Log == nil {
		a.Log = slog.New(slog.DiscardHandler)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	a.stop, a.state, a.changed = stop, errConnecting, make(chan struct{})
	a.tools, a.calls = map[string][]wire.Tool{}, map[string]*pending{}
	a.gateway = &dialer{
		session: newSession(a.Log, a.handle), dial: dial, up: a.up, down: a.down, lost: a.lost, fresh: a.fresh,
		hello: wire.Hello{
			Version: wire.Version, Role: wire.Agent, Client: a.Client, Workspace: a.Workspace, Session: a.Session,
			Capabilities: []string{wire.CanResume, wire.CanProgress, wire.CanParts, wire.CanEvents},
		},
	}
	refused := make(chan error, 1)
	a.wg.Go(func() {
		err := a.gateway.keep(running)
		if err == nil {
			err = errClosed
		}
		a.set(err)
		a.fail("The connection to the gateway is over: " + err.Error() + ".")
		refused <- err
	})
	return a.await(ctx, refused, func() bool { return a.state == nil })
}

// AwaitHost waits until the workspace has a host.
func (a *Agent) AwaitHost(ctx context.Context) error {
	return a.await(ctx, nil, func() bool { return len(a.tools) > 0 })
}

// await waits until so returns true. so is called with mu held.
func (a *Agent) await(ctx context.Context, refused <-chan error, so func() bool) error {
	for {
		a.mu.Lock()
		is, changed := so(), a.changed
		a.mu.Unlock()
		if is {
			return nil
		}
		select {
		case <-changed:
		case err := <-refused:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (a *Agent) set(state error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state = state
	a.change()
}

// change wakes the goroutines that wait for a change. The caller holds mu.
func (a *Agent) change() {
	close(a.changed)
	a.changed = make(chan struct{})
}

func (a *Agent) up(hello *wire.Hello) {
	a.mu.Lock()
	a.parts = slices.Contains(hello.Capabilities, wire.CanParts)
	a.mu.Unlock()
	a.set(nil)
}

func (a *Agent) down(err error) { a.Log.Info("connection to the gateway lost", "err", err) }

func (a *Agent) lost() {
	a.set(errLost)
	a.fail("The connection to the gateway was lost. Whether the call was done is not known: look before you repeat it.")
}

// fresh ends the calls of an earlier session.
func (a *Agent) fresh() {
	a.mu.Lock()
	clear(a.tools)
	a.mu.Unlock()
	a.set(errConnecting)
	a.fail("The gateway has lost the session. Whether the call was done is not known: look before you repeat it.")
}

// fail ends all calls.
func (a *Agent) fail(message string) {
	a.mu.Lock()
	calls := a.calls
	a.calls = map[string]*pending{}
	a.mu.Unlock()
	for _, p := range calls {
		p.stop()
		p.done <- failure(tool.HostUnavailable, message)
	}
}

func (a *Agent) handle(f wire.Frame) {
	switch f := f.(type) {
	case *wire.ToolResult:
		if awaits(f) {
			a.waits(f.CallID, true)
			return
		}
		if p := a.find(f.CallID); p != nil {
			f = p.content.into(f)
		}
		a.end(f.CallID, f)
	case *wire.Progress:
		a.waits(f.CallID, f.State == wire.Waiting)
	case *wire.Part:
		a.part(f)
	case *wire.Taken:
		if p := a.find(f.CallID); p != nil { // nil if the call has ended
			p.sent.take(f)
		}
	case *wire.Event:
		a.event(f)
	case *wire.Error:
		a.Log.Warn("gateway complains", "err", f.Message, "call", f.CallID)
		if f.CallID != "" {
			a.end(f.CallID, failure(tool.Code(f.Code), f.Message))
		}
	default:
		a.Log.Warn("frame dropped", "why", "not for an agent", "frame", wire.TypeOf(f))
	}
}

func (a *Agent) event(f *wire.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch f.Event {
	case wire.HostUp:
		a.tools[f.Workspace] = f.Tools
	case wire.HostDown:
		delete(a.tools, f.Workspace)
	}
	a.change()
}

func (a *Agent) waits(call string, waiting bool) {
	if a.Waits != nil {
		a.Waits(call, waiting)
	}
}

func (a *Agent) end(id string, f *wire.ToolResult) {
	a.mu.Lock()
	p := a.calls[id]
	delete(a.calls, id)
	a.mu.Unlock()
	if p == nil {
		a.Log.Warn("result dropped", "why", "late, duplicate or of no call", "call", id)
		return
	}
	p.stop()
	p.done <- f
}

// Specs implements tool.Caller. It returns the tools of the workspace's host, or none.
func (a *Agent) Specs() []tool.Spec {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Workspace != "" {
		return specsOf(a.tools[a.Workspace])
	}
	for _, tools := range a.tools {
		if len(a.tools) == 1 {
			return specsOf(tools)
		}
	}
	return nil
}

// Call implements tool.Caller. The call's Session, if it has one, is a name of
// letters, digits, dots, - and _; its Client is that of the Agent.
func (a *Agent) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	id := c.ID
	if id == "" {
		id = newID()
	}
	f := &wire.ToolCall{
		CallID: id, ToolName: c.Name, Arguments: c.Arguments, Session: c.Session, TimeoutSeconds: int(a.Timeout / time.Second),
	}
	sending, stop := context.WithCancel(ctx)
	defer stop()
	p := &pending{done: make(chan *wire.ToolResult, 1), stop: stop}
	a.mu.Lock()
	switch {
	case a.state != nil:
		err := a.state
		a.mu.Unlock()
		return resultOf(c.ID, failure(tool.HostUnavailable, "The gateway cannot be reached: "+err.Error()+"."))
	case a.calls[id] != nil:
		a.mu.Unlock()
		return resultOf(c.ID, failure(tool.InvalidArgument, "A call with this id is under way."))
	}
	a.calls[id] = p
	parts := a.parts
	a.mu.Unlock()
	switch err := a.submit(sending, f, p, parts); {
	case sending.Err() != nil: // the call is over, or given up
	case errors.Is(err, errLarge):
		a.end(id, failure(tool.FileTooLarge, "The call is larger than the gateway takes. Nothing was done."))
	case err != nil:
		a.end(id, failure(tool.HostUnavailable, "The gateway cannot be reached: "+err.Error()+"."))
	}
	select {
	case r := <-p.done:
		return resultOf(c.ID, r)
	case <-ctx.Done():
	}
	if err := a.gateway.send(&wire.Cancel{CallID: id, Reason: "caller"}); err != nil {
		a.end(id, failure(tool.Cancelled, "The call was cancelled. Whether it was done is not known."))
	}
	select { // the gateway sends the result
	case r := <-p.done:
		return resultOf(c.ID, r)
	case <-time.After(2 * settling):
		a.mu.Lock()
		delete(a.calls, id)
		a.mu.Unlock()
		return resultOf(c.ID, failure(tool.Cancelled, "The call was cancelled. Whether it was done is not known: look before you repeat it."))
	}
}

// inOne is the size in bytes up to which a call goes in one frame although it may go in parts. A host accepts more bytes in parts
// than in one frame. (FILE-8, FILE-9)
const inOne = 4 << 20

// submit sends a call in one frame. If the call is too large for that, submit sends its content in parts after it, until ctx ends.
func (a *Agent) submit(ctx context.Context, f *wire.ToolCall, p *pending, parts bool) error {
	rest, content, ok := json.RawMessage(nil), "", false
	if parts && (len(f.Arguments) > inOne || !a.gateway.fits(f.Arguments)) {
		rest, content, ok = wire.CutContent(f.Arguments)
	}
	if !ok {
		return a.gateway.sendWhenFree(ctx, f)
	}
	f.Arguments, f.PartsFollow = rest, true
	if err := a.gateway.send(f); err != nil {
		return err
	}
	return a.gateway.sendParts(ctx, f.CallID, strings.NewReader(content), &p.sent, 0)
}

// find returns the running call with that id, or nil.
func (a *Agent) find(id string) *pending {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.calls[id]
}

// part handles a part of a result's content.
func (a *Agent) part(f *wire.Part) {
	p := a.find(f.CallID)
	if p == nil {
		a.Log.Debug("part dropped", "why", "late, or of no call", "call", f.CallID)
		return
	}
	limit := a.MaxContent
	if limit == 0 {
		limit = maxContent
	}
	var answer wire.Frame = &wire.Taken{CallID: f.CallID, Seq: f.Seq}
	wrong := p.content.add(f, limit)
	if wrong != nil {
		answer = &wire.Cancel{CallID: f.CallID, Reason: "caller"}
	}
	if err := a.gateway.send(answer); err != nil {
		a.Log.Warn("not sent", "frame", wire.TypeOf(answer), "call", f.CallID, "err", err)
	}
	if wrong != nil {
		a.end(f.CallID, failure(wrong.code, wrong.words))
	}
}

// Close ends the connection and the running calls. Further calls do nothing.
func (a *Agent) Close() error {
	a.stop()
	a.wg.Wait()
	return nil
}

// assembly joins content in memory.
type assembly struct {
	stream
	text wire.Content
}

// add adds a part. Then the part counts as taken.
func (a *assembly) add(f *wire.Part, limit int) *reason {
	if wrong := a.stream.add(f, limit); wrong != nil {
		return wrong
	}
	a.text.Add(f.Data)
	a.taken = a.next
	return nil
}

// into puts the content into its result.
func (a *assembly) into(r *wire.ToolResult) *wire.ToolResult {
	if a.next == 0 || r.Error != "" {
		return r
	}
	if a.whole {
		if object, ok := a.text.Into(r.Result); ok {
			return &wire.ToolResult{CallID: r.CallID, Result: object}
		}
	}
	return failure(internalError, "the host's content in parts is not whole, or is no text")
}
