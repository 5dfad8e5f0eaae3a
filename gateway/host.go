package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/stet-dev/stet/gateway/wire"
	"github.com/stet-dev/stet/internal/budget"
	"github.com/stet-dev/stet/tool"
)

// Host gives the tools of a Caller to a gateway: it does the calls that come from
// there. Its fields are not to be changed once it runs; it runs once.
type Host struct {
	Dial                  // where the gateway is; not for Hub.Join
	Workspace string      // the name that the workspace goes by at the gateway
	Caller    tool.Caller // for the questions to people see Relay
	Client    string      // what the host calls itself; "": stet
	// Remembers says that Caller answers a write that comes again from its record, as
	// tool.Call.Once says. Else such a call is dropped, as long as the host remembers
	// its id. (FILE-4)
	Remembers bool
	// Stage begins the content of a call that comes in parts; nil: such calls are
	// refused. (FILE-9)
	Stage     func(tool.Call) (tool.Staged, error)
	End       func(session string) // told that a client session is over; may be nil
	Connected func(session string) // told of each connection; may be nil
	Log       *slog.Logger         // nil: silence
	// Memory bounds the bytes that calls hold, together with what else in this process
	// takes from it; nil: a budget of 96 MB of its own.
	Memory *budget.Budget

	sessions *budget.Family // of the same, for each client session

	session session
	base    context.Context
	wg      sync.WaitGroup

	mu      sync.Mutex
	can     map[string]bool // what the gateway can
	running map[string]*task
	era     int    // counts the gateways that knew nothing of an earlier session
	done    recent // calls of this era that were begun, and are not to be begun again
	asked   map[string]chan *wire.Approval
	visits  map[string]bool // client sessions of which nobody has said that they are over
	absence *time.Timer     // until all calls are cancelled
}

// task is a call that the host does.
type task struct {
	host    *Host
	id      string
	cancel  context.CancelFunc
	waiting bool // for a person; guarded by Host.mu
	era     int  // of the host when the call was begun
	ended   chan struct{}

	parts      chan *wire.Part // of its content; nil: it comes in the call
	sent       window          // of the content of its result
	takesParts bool            // the caller does
}

// hostMemory is Host.Memory where nothing else is said, in bytes.
const hostMemory = 96 << 20

// away is how long a client keeps what it has under way without a connection.
const away = 30 * time.Second

// Run connects the host to its gateway, again and again, until ctx ends, or the
// gateway refuses it for good. The calls under way then are cancelled, and waited
// for.
func (h *Host) Run(ctx context.Context) error { return h.run(ctx, h.dial) }

func (h *Host) run(ctx context.Context, dial func(context.Context) (conn, error)) error {
	if h.Log == nil {
		h.Log = slog.New(slog.DiscardHandler)
	}
	if h.Client == "" {
		h.Client = "stet"
	}
	if h.Memory == nil {
		h.Memory = budget.New(budget.Process, hostMemory)
	}
	h.sessions = budget.NewFamily(budget.Token, max(h.Memory.Limit()*2/3, 1))
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	h.base, h.running, h.asked = base, map[string]*task{}, map[string]chan *wire.Approval{}
	h.visits = map[string]bool{}
	h.session = session{
		dial: dial, log: h.Log, up: h.up, down: h.down, fresh: h.fresh,
		hello: wire.Hello{
			Version: wire.Version, Role: wire.Host, Client: h.Client, Workspace: h.Workspace, Tools: toolsOf(h.Caller.Specs()),
			Capabilities: h.capabilities(),
		},
		link: newLink(h.Log, h.handle),
	}
	h.session.link.inline = true
	err := h.session.keep(ctx)
	cancel()
	h.wg.Wait()
	h.mu.Lock()
	if h.absence != nil {
		h.absence.Stop()
	}
	h.mu.Unlock()
	return err
}

func (h *Host) capabilities() []string {
	all := []string{wire.CanResume, wire.CanCancel, wire.CanProgress, wire.CanParts, wire.CanAsk, wire.CanEvents}
	if h.Remembers {
		all = append(all, wire.CanRepeat)
	}
	return all
}

func toolsOf(specs []tool.Spec) []wire.Tool {
	out := make([]wire.Tool, len(specs))
	for i, s := range specs {
		out[i] = wire.Tool{Name: s.Name, Description: s.Description, Schema: s.Schema, ReadOnly: s.ReadOnly, Destructive: s.Destructive}
	}
	return out
}

// up notes that the host is connected.
func (h *Host) up(hello *wire.Hello) {
	h.mu.Lock()
	h.can = map[string]bool{}
	for _, c := range hello.Capabilities {
		h.can[c] = true
	}
	if h.absence != nil {
		h.absence.Stop()
	}
	h.mu.Unlock()
	h.Log.Info("connected to the gateway", "session", hello.Session, "resumed", hello.Resumed)
	if h.Connected != nil {
		h.Connected(hello.Session)
	}
}

// down cancels what the gateway gives up when the connection is lost: the calls
// that wait for nobody. The others have some time left.
func (h *Host) down(err error) {
	h.Log.Info("connection to the gateway lost", "err", err)
	h.cancel(false)
	h.mu.Lock()
	h.absence = time.AfterFunc(away, func() { h.cancel(true) })
	h.mu.Unlock()
}

// fresh cancels all calls: the gateway knows nothing of them. Nor does it say any
// more that the sessions are over that made them: what was granted to them ends.
func (h *Host) fresh() {
	h.cancel(true)
	h.mu.Lock()
	over := h.visits
	h.visits = map[string]bool{}
	h.era++
	h.done = recent{}
	h.mu.Unlock()
	for session := range over {
		h.over(session)
	}
}

// over notes that a client session is.
func (h *Host) over(session string) {
	h.mu.Lock()
	delete(h.visits, session)
	h.mu.Unlock()
	if h.End != nil {
		h.End(session)
	}
}

func (h *Host) cancel(all bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.running {
		if all || !t.waiting {
			t.cancel()
		}
	}
}

func (h *Host) handle(f wire.Frame) {
	switch f := f.(type) {
	case *wire.ToolCall:
		h.begin(f)
	case *wire.Cancel:
		if t := h.find(f.CallID); t != nil {
			t.cancel()
		}
	case *wire.Part:
		if t := h.find(f.CallID); t != nil { // else it has ended
			t.part(f)
		}
	case *wire.Taken:
		if t := h.find(f.CallID); t != nil {
			t.sent.take(f)
		}
	case *wire.Approval:
		h.mu.Lock()
		answer := h.asked[f.ID]
		delete(h.asked, f.ID)
		h.mu.Unlock()
		if answer == nil {
			h.Log.Warn("answer dropped", "why", "no such question", "question", f.ID)
			return
		}
		answer <- f
	case *wire.Event:
		if f.Event == wire.Ended {
			h.over(f.Session)
		}
	case *wire.Error:
		h.Log.Warn("gateway complains", "err", f.Message, "call", f.CallID)
	default:
		h.Log.Warn("frame dropped", "why", "not for a host", "frame", wire.TypeOf(f))
	}
}

// find is the call that is under way by that id; nil if there is none.
func (h *Host) find(id string) *task {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.running[id]
}

// begin begins a call. One that the gateway sends again while it knows of the first
// one is dropped, but for a write that the Caller answers from its record.
func (h *Host) begin(f *wire.ToolCall) {
	ctx, cancel := context.WithCancel(h.base)
	t := &task{host: h, id: f.CallID, cancel: cancel, takesParts: f.TakesParts, ended: make(chan struct{})}
	if f.PartsFollow {
		t.parts = make(chan *wire.Part, wire.PartsAhead)
	}
	h.mu.Lock()
	first := h.running[f.CallID]
	if again := first != nil && first.era == h.era || first == nil && h.done.has(f.CallID); again && !h.repeats(f.ToolName) {
		h.mu.Unlock()
		cancel()
		h.Log.Warn("call dropped", "why", "it was begun before", "call", f.CallID)
		return
	}
	h.done.add(f.CallID)
	h.running[f.CallID] = t
	h.visits[f.Session] = true
	t.era = h.era
	h.mu.Unlock()
	c := tool.Call{
		ID: f.CallID, Session: f.Session, Client: f.Client, Name: f.ToolName, Arguments: f.Arguments, Once: true, Large: f.TakesParts,
	}
	do := t.start(c)
	h.wg.Go(func() {
		defer cancel()
		defer close(t.ended)
		if first != nil { // what it comes to has to be known first
			<-first.ended
		}
		lease := budget.NewLease(h.sessions.Of(f.Session), h.Memory)
		defer lease.Release()
		res, err := do(lease.In(context.WithValue(ctx, taskKey{}, t)))
		r := resultFrame(res, err)
		if err != nil {
			if ctx.Err() != nil {
				r = failure(tool.Cancelled, "The call was cancelled.")
			} else {
				h.Log.Error("call", "tool", c.Name, "call", c.ID, "session", c.Session, "err", err)
			}
		}
		r.CallID = t.id
		if res.Content != nil {
			r, err = t.stream(ctx, r, res.Content)
			if closed := res.Content.Close(); err == nil {
				err = closed
			}
			if err != nil {
				h.Log.Warn("content not sent", "call", t.id, "err", err)
				r = t.failure(internalError, "the content could not be read; the log of the host says more")
			}
		}
		t.result(ctx, r)
		h.mu.Lock()
		if h.running[t.id] == t {
			delete(h.running, t.id)
		}
		h.mu.Unlock()
	})
}

// maxPrompt is how large a result may be, in bytes, that does not wait for those
// before it. Those of writes are no larger: what was done is told in any case.
const maxPrompt = 64 << 10

// repeats reports whether a call to a tool may be done again under the same id,
// since the Caller answers it from its record.
func (h *Host) repeats(name string) bool {
	return h.Remembers && slices.ContainsFunc(h.Caller.Specs(), func(s tool.Spec) bool { return s.Name == name && !s.ReadOnly })
}

// result says what the call came to.
func (t *task) result(ctx context.Context, r *wire.ToolResult) {
	t.host.mu.Lock()
	known := t.era == t.host.era
	t.host.mu.Unlock()
	if !known {
		return // the gateway has never heard of the call, or has made it again
	}
	link := t.host.session.link
	send := func(r *wire.ToolResult) error {
		if len(r.Result) <= maxPrompt {
			return link.send(r)
		}
		return link.sendLater(ctx, r)
	}
	err := send(r)
	if errors.Is(err, errLarge) {
		if r, err = t.inParts(ctx, r); err == nil {
			err = send(r)
		}
	}
	if err != nil && ctx.Err() != nil { // it waited, and its caller wants it no more
		r = t.failure(tool.Cancelled, "The call was cancelled.")
		err = link.send(r)
	}
	t.host.sent(r, err)
}

// start is the first half of a call, which gives it its place among those of its
// session.
func start(caller tool.Caller, c tool.Call) func(context.Context) (tool.Result, error) {
	if s, ok := caller.(tool.Starter); ok {
		return s.Start(c)
	}
	return func(ctx context.Context) (tool.Result, error) { return caller.Call(ctx, c) }
}

// resultFrame is what a call came to. What broke is told in no detail: it is in
// the host's log.
func resultFrame(res tool.Result, err error) *wire.ToolResult {
	if err != nil {
		return failure(internalError, "the tool broke; the log of the host says more")
	}
	text := res.Text
	if n := len(text); n < 2 || text[0] != '{' || text[n-1] != '}' {
		return plainResult(res)
	}
	return &wire.ToolResult{Result: bytesOf(text), Error: string(res.Code)}
}

// plainResult wraps a text that is no JSON object. (FILE-2)
func plainResult(res tool.Result) *wire.ToolResult {
	if res.Failed() {
		return failure(res.Code, res.Text)
	}
	b, err := json.Marshal(struct {
		Success bool   `json:"success"`
		Content string `json:"content"`
	}{true, res.Text})
	if err != nil {
		b = []byte(`{"success":true}`) // strings always marshal
	}
	return &wire.ToolResult{Result: b}
}

func (h *Host) send(f wire.Frame) { h.sent(f, h.session.link.send(f)) }

// sent notes what has become of a frame.
func (h *Host) sent(f wire.Frame, err error) {
	if err != nil {
		h.Log.Warn("not sent", "frame", wire.TypeOf(f), "call", callOf(f), "err", err)
	}
}
