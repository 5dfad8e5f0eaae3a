package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// Host gives the tools of a Caller to a gateway and runs the gateway's calls. Its fields must not be changed once it runs. It runs
// once.
type Host struct {
	Dial                  // where the gateway is; not used by Hub.Join
	Workspace string      // the workspace's name at the gateway
	Caller    tool.Caller // for questions to people see Relay
	Client    string      // the host's name for itself; "": stet
	// Remembers says that Caller answers a repeated write from its record, as tool.Call.Once says. Without it, a repeated call is
	// dropped as long as the host remembers its id.
	Remembers bool
	// Stage begins the content of a call that comes in parts; nil: such calls are refused.
	Stage     func(tool.Call) (tool.Staged, error)
	End       func(session string) // called when a client session is over; may be nil
	Connected func(session string) // called at each connection; may be nil
	Unreached func(error)          // called when the gateway cannot be reached, not for each attempt; may be nil
	Log       *slog.Logger         // nil: no logging
	// Memory bounds the bytes that calls hold. Other parts of this process may share it. nil: a budget of 96 MB of its own.
	Memory *limits.Budget

	sessions *limits.Family // taken from Memory, for each client session

	gateway *dialer
	base    context.Context
	wg      sync.WaitGroup

	mu      sync.Mutex
	can     map[string]bool // capabilities of the gateway
	running map[string]*task
	era     int    // increased when the gateway does not know the earlier session
	done    recent // calls of this era that were begun and must not be begun twice
	asked   map[string]chan *wire.Approval
	clients map[string]bool // client sessions that made calls and are not known to be over
}

// hostMemory is the default of Host.Memory, in bytes.
const hostMemory = 96 << 20

// Run connects the host to its gateway, again after each lost connection. It ends when ctx ends or the gateway refuses the host for
// good. Then it cancels the running calls and waits for them.
func (h *Host) Run(ctx context.Context) error { return h.run(ctx, h.dial) }

func (h *Host) run(ctx context.Context, dial func(context.Context) (connection, error)) error {
	h.Log = cmp.Or(h.Log, slog.New(slog.DiscardHandler))
	h.Client = cmp.Or(h.Client, "stet")
	if h.Memory == nil {
		h.Memory = limits.NewBudget(limits.Process, hostMemory)
	}
	h.sessions = limits.NewFamily(limits.Token, max(h.Memory.Limit()*2/3, 1))
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	h.base, h.running, h.asked = base, map[string]*task{}, map[string]chan *wire.Approval{}
	h.clients = map[string]bool{}
	h.gateway = &dialer{
		session: newSession(h.Log, h.handle), dial: dial, up: h.up, down: h.down, lost: h.lost, fresh: h.fresh, unreached: h.Unreached,
		hello: wire.Hello{
			Version: wire.Version, Role: wire.Host, Client: h.Client, Workspace: h.Workspace, Tools: toolsOf(h.Caller.Specs()),
			Capabilities: h.capabilities(),
		},
	}
	err := h.gateway.keep(ctx)
	cancel()
	h.wg.Wait()
	return err
}

func (h *Host) capabilities() []string {
	all := []string{wire.CanResume, wire.CanCancel, wire.CanProgress, wire.CanParts, wire.CanAsk, wire.CanEvents, wire.CanAdmit}
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

// up records that the host is connected.
func (h *Host) up(hello *wire.Hello) {
	h.mu.Lock()
	h.can = map[string]bool{}
	for _, c := range hello.Capabilities {
		h.can[c] = true
	}
	h.mu.Unlock()
	h.Log.Info("connected to the gateway", "session", hello.Session, "resumed", hello.Resumed)
	if h.Connected != nil {
		h.Connected(hello.Session)
	}
}

// down cancels the calls that the gateway ends when the connection is lost: the calls that do not wait for a person.
func (h *Host) down(err error) {
	h.Log.Info("connection to the gateway lost", "err", err)
	h.cancel(false)
}

func (h *Host) lost() { h.cancel(true) }

// fresh cancels all calls, because the gateway does not know them. The gateway will also not report the end of their client
// sessions. So these sessions end here, with the grants they have.
func (h *Host) fresh() {
	h.cancel(true)
	h.mu.Lock()
	over := h.clients
	h.clients = map[string]bool{}
	h.era++
	h.done = recent{}
	h.mu.Unlock()
	for session := range over {
		h.over(session)
	}
}

// over handles the end of a client session.
func (h *Host) over(session string) {
	h.mu.Lock()
	delete(h.clients, session)
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
		if t := h.find(f.CallID); t != nil { // nil if the call has ended
			t.part(f)
		}
	case *wire.Taken:
		if t := h.find(f.CallID); t != nil {
			t.sent.take(f)
		}
	case *wire.Progress:
		if t := h.find(f.CallID); t != nil && f.State == wire.Waiting {
			h.mu.Lock()
			t.admit()
			h.mu.Unlock()
		}
	case *wire.Approval:
		h.mu.Lock()
		answer := h.asked[f.ID]
		delete(h.asked, f.ID)
		h.mu.Unlock()
		if answer == nil {
			h.Log.Debug("answer dropped", "why", "the question is no longer open", "question", f.ID)
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

// find returns the running call with that id, or nil.
func (h *Host) find(id string) *task {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.running[id]
}

func (h *Host) send(f wire.Frame) { h.logUnsent(f, h.gateway.send(f)) }

// logUnsent logs that a frame was not sent because of err.
func (h *Host) logUnsent(f wire.Frame, err error) {
	if err != nil {
		h.Log.Warn("not sent", "frame", wire.TypeOf(f), "call", wire.CallOf(f), "err", err)
	}
}

// Relay is the approver of a host's handler. It tells the gateway when a call begins to wait for a person, so that this time does
// not count, and when it continues. It waits until the gateway has counted the question. Then the question goes to Next, or to the gateway's people. One Relay serves every Host of the
// process. Questions of calls that did not come through a Host go to Next.
type Relay struct {
	Next approval.Approver // nil: the gateway's people decide
}

type taskKey struct{}

// Ask implements approval.Approver.
func (r Relay) Ask(ctx context.Context, q approval.Question) (approval.Answer, error) {
	t, _ := ctx.Value(taskKey{}).(*task)
	if t != nil {
		admitted := t.wait(true)
		defer t.wait(false)
		select {
		case <-admitted:
		case <-ctx.Done(): // also if there are too many questions
			return approval.Answer{}, ctx.Err()
		}
	}
	switch {
	case r.Next != nil:
		return r.Next.Ask(ctx, q)
	case t == nil:
		return approval.Answer{}, approval.ErrNoPerson
	}
	return t.host.ask(ctx, t.id, q)
}

// wait tells the gateway whether the call waits for a person. admitted is closed when a person may be asked.
func (t *task) wait(waiting bool) (admitted <-chan struct{}) {
	ready := make(chan struct{})
	t.host.mu.Lock()
	t.waiting, t.admit = waiting, sync.OnceFunc(func() { close(ready) })
	if !t.host.can[wire.CanAdmit] {
		t.admit()
	}
	t.host.mu.Unlock()
	if waiting {
		t.host.send(&wire.ToolResult{CallID: t.id, NeedsConfirmation: true})
	} else {
		t.host.send(&wire.Progress{CallID: t.id, State: wire.Working})
	}
	return ready
}

// ask asks the gateway's people.
func (h *Host) ask(ctx context.Context, call string, q approval.Question) (approval.Answer, error) {
	h.mu.Lock()
	if !h.can[wire.CanAsk] {
		h.mu.Unlock()
		return approval.Answer{}, approval.ErrNoPerson
	}
	id, answer := newID(), make(chan *wire.Approval, 1)
	h.asked[id] = answer
	h.mu.Unlock()
	q.CallID = call
	question := &wire.Approval{ID: id, CallID: call, Question: &q}
	err := h.gateway.send(question)
	if errors.Is(err, errLarge) && !q.Diff.Empty() { // people see the diff, but cannot edit
		q.Content, q.Editable = nil, false
		err = h.gateway.send(question)
	}
	if errors.Is(err, errLarge) { // people decide on the shortened question
		q.Diff, q.Content, q.Editable = tool.Diff{}, nil, false
		q.Notes = append(slices.Clip(q.Notes), tool.Large)
		err = h.gateway.send(question)
	}
	if err != nil {
		h.mu.Lock()
		delete(h.asked, id)
		h.mu.Unlock()
		return approval.Answer{}, fmt.Errorf("question to the gateway: %w", err)
	}
	select {
	case a := <-answer:
		if a.Answer == nil {
			return approval.Answer{}, why(a)
		}
		return *a.Answer, nil
	case <-ctx.Done():
		h.mu.Lock()
		delete(h.asked, id)
		h.mu.Unlock()
		withdrawn := &wire.Approval{ID: id, CallID: call, Withdrawn: true}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			withdrawn.Code = string(tool.Timeout)
		}
		h.send(withdrawn)
		return approval.Answer{}, ctx.Err()
	}
}
