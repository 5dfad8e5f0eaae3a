package gateway

import (
	"context"
	"log/slog"
	"sync"

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
	// dropped as long as the host remembers its id. (FILE-4)
	Remembers bool
	// Stage begins the content of a call that comes in parts; nil: such calls are refused. (FILE-9)
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
	if h.Log == nil {
		h.Log = slog.New(slog.DiscardHandler)
	}
	if h.Client == "" {
		h.Client = "stet"
	}
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
