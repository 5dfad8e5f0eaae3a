package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// Config configures a Hub. The zero value of each field is the default.
type Config struct {
	Authority Authority       // who may do what; nil: no client may do anything
	Queue     *approval.Queue // where hosts leave their questions; nil: they cannot
	Journal   *record.Journal // records what people decided at the gateway; nil: no record
	Bus       Bus             // to the hubs of other processes; nil: there are none

	// AllowedHosts are names that a request's Host may have besides the
	// loopback's, with a port or without.
	AllowedHosts []string

	Limits Limits
	Quotas *Quotas // counts the use of each token, here and in other servers; nil: only here
	// Memory bounds the bytes of calls and answers that the hub holds. Other parts of this process may share it. nil: a budget of
	// 96 MB of its own.
	Memory *limits.Budget
	// Held bounds the bytes of each token's sessions and connections. Other parts of this process may share it. nil: its own.
	Held *limits.Held
	// Tokens counts the calls and questions of each token. All that accepts calls in this process should share it. nil: its own.
	Tokens *limits.Tokens
	// Away is how long a session is kept without a connection, if it can be resumed; 0: 30 s, negative: not kept.
	Away time.Duration

	Version string // the program's version, shown to people
	Log     *slog.Logger
}

// Limits are the limits of a Hub. The zero value of each is the default.
type Limits struct {
	Frame       int // bytes of a frame; 0: 16 MB
	Bytes       int // bytes of a workspace's calls at once; 0: 32 MB
	Rate        int // calls of a session in a minute; 0: 100, negative: no limit (FILE-10)
	Connections int // at once; 0: 4096
	Content     int // bytes of a content in parts; 0: 100 MB (FILE-9)
	Whole       int // bytes of content for callers that accept no parts; 0: 10 MB (FILE-8)
}

// Limits that are the same for every Hub.
const (
	callsAtOnce    = 64       // for one session
	tokenBytes     = 48 << 20 // bytes of calls and answers held for one token
	workspaceBytes = 64 << 20 // bytes of answers held for one workspace
)

func (l *Limits) fill() {
	set := func(n *int, to int) {
		if *n == 0 {
			*n = to
		}
	}
	set(&l.Frame, 16<<20)
	set(&l.Bytes, 32<<20)
	set(&l.Rate, 100)
	set(&l.Connections, 4096)
	set(&l.Content, maxContent)
	set(&l.Whole, 10<<20)
}

// errClosed says that a Hub or a session is closed.
var errClosed = errors.New("gateway is closed")

// Hub connects agents, the hosts of workspaces, and people. It may be used
// concurrently; Close ends it.
type Hub struct {
	config  Config
	log     *slog.Logger
	bus     Bus
	shared  bool   // there may be other hubs on the bus
	address string // address of the hub on the bus; results are sent to it

	base    context.Context // done when the hub closes
	stop    context.CancelFunc
	serving sync.WaitGroup
	closing sync.WaitGroup // connections that are told why they end
	buffers buffers

	// Bytes of calls and answers that are held.
	tokens, workspaces *limits.Family
	rates              limits.Rates // of calls (FILE-10)

	seldom *seldom  // limits frequent entries of the audit trail
	stops  []func() // end the subscriptions on the bus

	newPeer chan string   // addresses of hubs that must be told of all questions
	early   chan struct{} // capacity 1: asks for a beat now
	born    time.Time

	mu          sync.Mutex
	closed      bool
	ending      bool // Drain will begin soon
	draining    bool
	calls       map[string]*call       // running calls by id
	ended       recent                 // ids of ended calls
	schedulers  map[string]*scheduler  // of the calls to a workspace
	known       map[string]presentHost // the workspaces that have a host
	left        map[string]presentHost // workspaces that had a host, and may have it again soon
	hosts       map[string]*hostPeer   // that are connected to this hub, by workspace
	stays       map[string]time.Time   // when another hub said that its host of a workspace does not move
	sessions    map[*hubSession]bool
	secrets     map[string]*hubSession // sessions that can be resumed
	connections int
	expiries    map[issue]time.Time                // when tokens expire, by the monotonic clock
	peers       map[string]time.Time               // other hubs, and when their last message came
	copies      map[string]context.CancelCauseFunc // copies of other hubs' questions, by hub and id
	idle        chan struct{}                      // closed when the last call has ended; nil: no goroutine waits for that
}

// New returns a Hub.
func New(c Config) (*Hub, error) {
	c.Limits.fill()
	if c.Away == 0 {
		c.Away = 30 * time.Second
	}
	if c.Memory == nil {
		c.Memory = limits.NewBudget(limits.Process, 96<<20)
	}
	if c.Held == nil {
		c.Held = limits.NewHeld(0)
	}
	if c.Tokens == nil {
		c.Tokens = new(limits.Tokens)
	}
	if c.Quotas == nil {
		c.Quotas = new(Quotas)
	}
	alone := c.Bus == nil
	if alone {
		c.Bus = new(Local)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Journal == nil {
		c.Journal = new(record.Journal)
	}
	h := &Hub{
		config: c, log: c.Log, bus: c.Bus, shared: !alone, address: "hub/" + newID(),
		calls: map[string]*call{}, schedulers: map[string]*scheduler{},
		known: map[string]presentHost{}, left: map[string]presentHost{}, peers: map[string]time.Time{}, copies: map[string]context.CancelCauseFunc{},
		newPeer: make(chan string, 64), early: make(chan struct{}, 1), born: time.Now(), hosts: map[string]*hostPeer{}, stays: map[string]time.Time{},
		sessions: map[*hubSession]bool{}, secrets: map[string]*hubSession{}, expiries: map[issue]time.Time{},
		tokens:     limits.NewFamily(limits.Token, tokenBytes),
		workspaces: limits.NewFamily(limits.Workspace, workspaceBytes),
		seldom:     newSeldom(),
		rates:      limits.Rates{PerMinute: c.Limits.Rate, Tokens: c.Tokens},
	}
	h.base, h.stop = context.WithCancel(context.Background())
	stop, err := h.bus.Own(h.address, h.result, nil)
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	h.stops = append(h.stops, stop)
	if stop, err = h.bus.Subscribe(presence, h.present); err != nil {
		h.stops[0]()
		return nil, fmt.Errorf("gateway: %w", err)
	}
	h.stops = append(h.stops, stop)
	h.serving.Go(h.checkTokens)
	if !alone {
		h.serving.Go(h.beat)
		if c.Queue != nil {
			h.serving.Go(h.share)
		}
	}
	return h, nil
}

// presence is the topic for events about hosts that connect or go.
const presence = "workspaces"

func workspaceAddress(name string) string { return "workspace/" + name }

func newID() string { return strings.ToLower(rand.Text()[:12]) }

// Workspaces lists the workspaces that have a host.
func (h *Hub) Workspaces() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.known))
}

// tools returns the tools of a workspace; ok says whether it has a host.
func (h *Hub) tools(workspace string) (tools []wire.Tool, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w, ok := h.known[workspace]
	return w.tools, ok
}

// toolsMoving is tools, also for a workspace whose host was lost a short time ago: the host may be moving to another hub.
func (h *Hub) toolsMoving(workspace string) (tools []wire.Tool, ok bool) {
	if tools, ok = h.tools(workspace); ok || !h.shared {
		return tools, ok
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	w, ok := h.left[workspace]
	return w.tools, ok && time.Since(w.seen) < moveWait
}

// leftBy records that a workspace has lost its host. The caller holds mu.
func (h *Hub) leftBy(workspace string) {
	w, ok := h.known[workspace]
	delete(h.known, workspace)
	if ok && h.shared {
		w.seen = time.Now()
		h.left[workspace] = w
	}
	maps.DeleteFunc(h.left, func(_ string, w presentHost) bool { return time.Since(w.seen) > moveWait })
}

// noHost returns the message for a workspace without a host.
func (h *Hub) noHost(workspace string) string {
	if all := h.Workspaces(); len(all) > 0 && !slices.Contains(all, workspace) {
		return fmt.Sprintf("No host is connected for workspace %q.", workspace)
	}
	return fmt.Sprintf("The host of workspace %q is not connected right now.", workspace)
}

// workspaceFor returns the workspace of a call, or the result of a call that cannot have one. named is the workspace that the caller
// named, or "". A caller that may reach it was checked before.
func (h *Hub) workspaceFor(who Identity, named string) (string, *wire.ToolResult) {
	if name := cmp.Or(named, who.Workspace); name != "" {
		return name, nil
	}
	switch all := h.Workspaces(); len(all) {
	case 0:
		return "", failure(tool.HostUnavailable, "No host is connected.")
	case 1:
		return all[0], nil
	default:
		return "", failure(tool.InvalidArgument, fmt.Sprintf("There are several workspaces. Name one in hello, or in plain HTTP as ?workspace=NAME: %q.", all[:min(len(all), 20)]))
	}
}

// start begins a call. The call's done is called once, possibly before start returns.
func (h *Hub) start(c *call) {
	if code, message := h.enter(c); code != "" {
		c.fail(code, message)
		return
	}
	c.begin()
}

// enter adds a call to the running calls, or returns why it cannot.
func (h *Hub) enter(c *call) (code tool.Code, message string) {
	tools, ok := h.toolsMoving(c.to)
	if !ok {
		return tool.HostUnavailable, h.noHost(c.to)
	}
	if i := slices.IndexFunc(tools, func(t wire.Tool) bool { return t.Name == c.f.ToolName }); i >= 0 {
		c.spec = tools[i]
	}
	c.f.RequiresConfirmation = !c.spec.ReadOnly // (FILE-3)
	c.f.ApprovalTimeoutSeconds = min(c.f.ApprovalTimeoutSeconds, int(longest/time.Second))
	if wait, before := h.rates.Take(c.f.Session, c.account, time.Now()); wait > 0 {
		c.unsaid = before > 0
		return tool.RateLimited, limits.TooMany(wait)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.draining || h.closed:
		return tool.HostUnavailable, "The gateway is shutting down."
	case h.calls[c.f.CallID] != nil:
		return tool.InvalidArgument, "A call with this call_id is under way in this session: an id is used for one call."
	case h.ended.has(c.f.CallID) && !h.repeats(c.to, c.f.ToolName):
		return tool.InvalidArgument, "This call_id was used before in this session: a call is done once."
	}
	h.calls[c.f.CallID] = c
	return "", ""
}

// repeats reports whether a call to a tool of a workspace may be sent a second time, because its host answers a repeated call from
// its record. The caller holds mu.
func (h *Hub) repeats(workspace, name string) bool {
	host := h.hosts[workspace]
	return host != nil && host.can(wire.CanRepeat) &&
		slices.ContainsFunc(h.known[workspace].tools, func(t wire.Tool) bool { return t.Name == name && !t.ReadOnly })
}

// mayRepeat is repeats for callers that do not hold mu.
func (h *Hub) mayRepeat(workspace, name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.repeats(workspace, name)
}

// forget removes a call that is over.
func (h *Hub) forget(c *call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.calls[c.f.CallID] == c {
		delete(h.calls, c.f.CallID)
		h.ended.add(c.f.CallID)
	}
	if len(h.calls) == 0 && h.idle != nil {
		close(h.idle)
		h.idle = nil
	}
}

// result handles what a host or another hub says about a call. If the call is not running, the message is dropped and logged with
// the reason. (FILE-4)
func (h *Hub) result(m Message) {
	if h.fromPeer(m) {
		return
	}
	id := wire.CallOf(m.Frame)
	h.mu.Lock()
	c := h.calls[id]
	late := c == nil && h.ended.has(id)
	h.mu.Unlock()
	switch {
	case c != nil:
		c.fromHost(m.Frame)
	case late:
		h.log.Warn("result dropped", "why", "late or duplicate: the call is over", "call", id, "frame", wire.TypeOf(m.Frame))
	default:
		h.log.Warn("result dropped", "why", "no such call", "call", id, "frame", wire.TypeOf(m.Frame))
	}
}

// schedulerOf returns the scheduler for the calls to a workspace.
func (h *Hub) schedulerOf(workspace string) *scheduler {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.schedulers[workspace]
	if s == nil {
		s = &scheduler{bytes: h.config.Limits.Bytes, calls: callsAtOnce}
		h.schedulers[workspace] = s
	}
	return s
}

// clientSession names a client session that has made calls to a workspace.
type clientSession struct{ name, workspace string }

// leave tells the host that a client session is over. Other hosts are not told: with many agents and many hosts there would be more
// such messages than calls.
func (h *Hub) leave(s clientSession) {
	m := Message{Frame: &wire.Event{Event: wire.Ended, Session: s.name}}
	if err := h.bus.Send(workspaceAddress(s.workspace), m); err != nil {
		h.log.Debug("not told", "workspace", s.workspace, "err", err)
	}
}

func (h *Hub) allSessions() []*hubSession {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.sessions))
}

// enterConnection counts a new connection, unless the limit is reached.
func (h *Hub) enterConnection() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.draining || h.connections >= h.config.Limits.Connections {
		return false
	}
	h.connections++
	h.serving.Add(1)
	return true
}

func (h *Hub) leaveConnection() {
	h.mu.Lock()
	h.connections--
	h.mu.Unlock()
	h.serving.Done()
}

// recent remembers the most recently added keys, by hashes that a peer cannot foresee: keys may be long.
type recent struct {
	most int // number of keys; 0: remembered
	seed maphash.Seed
	keys map[uint64]bool
	ring []uint64
	next int
}

// remembered is the usual number of keys in a recent.
const remembered = 1 << 16

func (r *recent) add(key string) {
	most := cmp.Or(r.most, remembered)
	if r.keys == nil {
		r.keys, r.seed = map[uint64]bool{}, maphash.MakeSeed()
	}
	hash := maphash.String(r.seed, key)
	if len(r.ring) < most {
		r.ring = append(r.ring, hash)
	} else {
		delete(r.keys, r.ring[r.next])
		r.ring[r.next] = hash
		r.next = (r.next + 1) % most
	}
	r.keys[hash] = true
}

func (r *recent) has(key string) bool { return r.keys != nil && r.keys[maphash.String(r.seed, key)] }
