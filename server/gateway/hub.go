// Package gateway connects agents with workspaces on other machines, and with the people who decide about their writes.
//
// A [Hub] is in the middle. Agents make calls over a WebSocket, over plain HTTP, or in the same process ([Hub.Caller]). A [Host]
// next to a workspace runs the calls. Its questions go to people at its own terminal, or to the gateway's people, who answer on the
// page. Package wire defines the frames.
//
// Three words describe the link between two ends. A connection is a transport: a WebSocket, or a pipe in this process. A session
// lasts longer than a connection: its frames are counted, and it continues over the next connection. A frame queue holds a
// session's outgoing frames. Both ends of a session have the same type. At the hub a session has a peer (agentPeer, hostPeer).
// At a client it has a dialer, which connects again.
//
// # A call
//
// Hub.start begins a call from agentPeer, rest or [Remote]. The call waits until the scheduler admits it (calls.go). Then it is
// sent over the [Bus] to the hub that has the host. The result returns the same way, and the call's done receives it. The call's
// clock (30 s) stops while a person is asked, and another clock runs (600 s). When the time is over, the host is asked to end the
// call, and the host's answer counts. If the host did not do the call, the result says so. If it did, the call is a success. If the
// host does not answer, the result says that this is not known.
//
// A call is done once. Neither the hub nor the host accepts the same id twice in a session. A host that names [wire.CanRepeat]
// answers a repeated write from its audit trail, also after it or the hub was restarted.
//
// # Large contents
//
// Content that is too large for one frame is sent in parts, in both directions. The hub forwards the parts and checks their order
// and size. At most four parts are on their way and not yet taken, so memory stays bounded. The host stages the parts. The call is
// planned and decided when all parts have arrived.
//
// # Lost connections
//
// The frames of a session are counted, and frames without an acknowledgement are kept. When the client connects again within a time
// limit, the session continues where it stopped. No frame is lost, and no frame arrives twice. But the calls that a host was
// running when its connection broke fail at once. Calls that wait for a person continue.
package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

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
	Rate        int // calls of a session in a minute; 0: 100, negative: no limit
	Connections int // at once; 0: 4096
	Content     int // bytes of a content in parts; 0: 100 MB
	Whole       int // bytes of content for callers that accept no parts; 0: 10 MB
}

// Limits that are the same for every Hub.
const (
	callsAtOnce    = 64       // for one session
	tokenBytes     = 48 << 20 // bytes of calls and answers held for one token
	workspaceBytes = 64 << 20 // bytes of answers held for one workspace
)

func (l *Limits) fill() {
	set := func(n *int, to int) {
		*n = cmp.Or(*n, to)
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

// Hub connects agents, the hosts of workspaces, and people. It may be used concurrently; Close ends it. What it knows is in four parts,
// each with its own lock: hosts, calls, clients and peers. No part calls another one.
type Hub struct {
	config  Config
	log     *slog.Logger
	bus     Bus
	shared  bool   // there may be other hubs on the bus
	address string // address of the hub on the bus; results are sent to it
	born    time.Time

	hosts   hosts
	calls   calls
	clients clients
	peers   peers

	base    context.Context // done when the hub closes
	stop    context.CancelFunc
	stops   []func()       // end the subscriptions on the bus
	closing sync.WaitGroup // connections that get the reason of their end
	buffers buffers

	tokens, workspaces *limits.Family // bytes of calls and answers that are held
	seldom             limits.Keyed   // limits frequent entries of the audit trail, by kind

	mu      sync.Mutex
	ending  bool // Drain was called
	closed  bool
	serving sync.WaitGroup // Close waits for it; guarded by mu where closed may be set
}

// New returns a Hub.
func New(c Config) (*Hub, error) {
	c.Limits.fill()
	c.Away = cmp.Or(c.Away, 30*time.Second)
	if c.Memory == nil {
		c.Memory = limits.NewBudget(limits.Process, 96<<20)
	}
	if c.Held == nil {
		c.Held = limits.NewHeld(0)
	}
	if c.Tokens == nil {
		c.Tokens = new(limits.Tokens)
	}
	alone := c.Bus == nil
	if alone {
		c.Bus = new(Local)
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Journal == nil {
		c.Journal = new(record.Journal)
	}
	h := &Hub{
		config: c, log: c.Log, bus: c.Bus, shared: !alone, address: "hub/" + newID(), born: time.Now(),
		hosts: hosts{
			shared: !alone, known: map[string]presentHost{}, left: map[string]presentHost{}, here: map[string]*hostPeer{}, stays: map[string]time.Time{},
		},
		calls: calls{
			rates: limits.Rates{PerMinute: c.Limits.Rate, Tokens: c.Tokens}, bytes: c.Limits.Bytes,
			running: map[string]*call{}, schedulers: map[string]*scheduler{},
		},
		clients: clients{most: c.Limits.Connections, sessions: map[*hubSession]bool{}, secrets: map[string]*hubSession{}, expiries: map[issue]time.Time{}},
		peers: peers{
			seen: map[string]time.Time{}, copies: map[string]context.CancelCauseFunc{}, fresh: make(chan string, 64), early: make(chan struct{}, 1),
		},
		tokens: limits.NewFamily(limits.Token, tokenBytes), workspaces: limits.NewFamily(limits.Workspace, workspaceBytes),
		seldom: limits.Keyed{PerMinute: 1, All: limits.NewRate(manyKinds)},
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

func newID() string { return strings.ToLower(rand.Text()[:12]) }

// background runs f until it returns, unless the hub is closed. Close waits for it.
func (h *Hub) background(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.serving.Go(f)
	}
}

// enterConnection counts a new connection, unless the limit is reached or the hub is ending.
func (h *Hub) enterConnection() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || !h.clients.enter() {
		return false
	}
	h.serving.Add(1)
	return true
}

func (h *Hub) leaveConnection() {
	h.clients.leave()
	h.serving.Done()
}

// Times for a hub that starts or ends while other hubs run.
const (
	settleTime = time.Second / 2 // a new hub receives the news of other hubs' hosts in this time
	noticeTime = time.Second     // Ready reports the shutdown this long before calls are refused, so that senders can choose another hub
	leaveTime  = 3 * time.Second // the limit for other hubs' calls at a host that is to move
)

// Drain accepts no more calls and connections, tells all clients, and waits until the running calls have ended or ctx ends. Then
// its hosts move to other hubs, if there are any.
func (h *Hub) Drain(ctx context.Context) error {
	h.mu.Lock()
	notice := h.shared && !h.ending
	h.ending = true
	h.mu.Unlock()
	if notice {
		select {
		case <-time.After(noticeTime):
		case <-ctx.Done():
		}
	}
	idle := h.calls.refuse()
	if first := h.clients.refuse(); first {
		for _, s := range h.clients.all() {
			if s.can(wire.CanEvents) {
				s.tell(&wire.Event{Event: wire.Draining, Message: "the gateway is shutting down"})
			}
		}
	}
	select {
	case <-idle:
	case <-ctx.Done():
		return ctx.Err()
	}
	if h.shared {
		h.sendAway(ctx)
	}
	for _, s := range h.clients.all() {
		if !s.drained(ctx) {
			return ctx.Err()
		}
	}
	return nil
}

// sendAway tells the hosts that are connected here to move to other hubs.
func (h *Hub) sendAway(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leaveTime)
	defer cancel()
	var leaving sync.WaitGroup
	for _, p := range h.hosts.connected() {
		leaving.Go(func() { p.leave(ctx) })
	}
	leaving.Wait()
}

// Ready returns why calls are not accepted now, or nil.
func (h *Hub) Ready() error {
	h.mu.Lock()
	ending := h.ending || h.closed
	h.mu.Unlock()
	if ending {
		return errors.New("ending: no more calls are taken")
	}
	if h.shared && time.Since(h.born) < settleTime {
		return errors.New("beginning: the other gateways are asked for their hosts")
	}
	if err := h.bus.Publish("ready/"+h.address, Message{}); err != nil { // the topic has no subscribers
		return fmt.Errorf("the bus: %w", err)
	}
	return nil
}

// closeTime is how long clients have to answer when the hub closes their connections.
const closeTime = time.Second

// Close ends every call and every connection, and waits for them. It may be called more than once.
func (h *Hub) Close() error {
	h.mu.Lock()
	first := !h.closed
	h.closed = true
	h.mu.Unlock()
	h.calls.refuse()
	h.clients.refuse()
	for _, c := range h.calls.all() {
		c.fail(tool.HostUnavailable, "The gateway is shutting down."+c.unknown())
	}
	for _, s := range h.clients.all() {
		s.end(websocket.StatusGoingAway, "the gateway is shutting down")
	}
	closed := make(chan struct{})
	go func() {
		h.closing.Wait()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(closeTime):
	}
	h.stop()
	<-closed
	h.serving.Wait()
	if first {
		for _, stop := range h.stops {
			stop()
		}
	}
	return nil
}
