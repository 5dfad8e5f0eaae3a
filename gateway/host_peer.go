package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// hostPeer is what the hub does for the host of a workspace: it owns the workspace's
// address on the bus, and passes calls to the host and results back.
type hostPeer struct {
	*hubSession
	release func() // gives back the workspace's address

	mu     sync.Mutex
	away   bool                          // without a connection
	leaves bool                          // it is to go to another hub
	routes map[string]*route             // of the calls that the host has
	asking map[string]context.CancelFunc // questions to the gateway's people, by the host's id
}

// route is where a call's result goes.
type route struct {
	to      string // address on the bus
	waiting bool   // for a person
}

func newHostPeer(s *hubSession) *hostPeer {
	return &hostPeer{hubSession: s, routes: map[string]*route{}, asking: map[string]context.CancelFunc{}}
}

func (p *hostPeer) workspace() string { return p.hello.Workspace }

// codeTaken is the code of the *wire.Error for a host whose workspace has another host,
// or gets one.
const codeTaken = "workspace_taken"

// moveTime is how long the hub that a host has left may take to give the workspace back.
const moveTime = time.Second

// begin takes the workspace. A host takes it over from one with the same token, and from
// one that has lost its connection to another hub. It is refused for good where another host
// has the workspace, and told to come again where that is not known.
func (p *hostPeer) begin() (err error) {
	h := p.h
	begun := time.Now()
	for end := begun.Add(moveTime); ; {
		p.release, err = h.bus.Own(workspaceAddress(p.workspace()), p.deliver, p.lost)
		if !errors.Is(err, ErrTaken) {
			break
		}
		h.mu.Lock()
		old, stays := h.hosts[p.workspace()], h.stays[p.workspace()].After(begun)
		delete(h.stays, p.workspace())
		h.mu.Unlock()
		switch {
		case stays || old != nil && old.who.ID != p.who.ID:
			return &wire.Error{Code: codeTaken, Message: fmt.Sprintf("workspace %q has a host already", p.workspace())}
		case time.Now().After(end):
			return &wire.Error{Code: string(tool.HostUnavailable), Message: "another gateway has not given the workspace back yet"}
		case old != nil:
			old.end(websocket.StatusPolicyViolation, takenOver)
		default:
			h.wantsBack(p)
		}
	}
	if err != nil { // of the bus, which may work again in a moment: the host is to come again
		h.log.Error("bus", "workspace", p.workspace(), "err", err)
		return &wire.Error{Code: string(tool.HostUnavailable), Message: "the gateway cannot take the workspace now: its bus does not work"}
	}
	h.mu.Lock()
	h.hosts[p.workspace()] = p
	h.mu.Unlock()
	p.publish(wire.HostUp)
	return nil
}

const takenOver = codeTaken + ": another host with the same token has taken the workspace over"

// wantsBack asks the hub that has a workspace to give it back for a host, and waits a moment.
// The session of the hello is the host's token.
func (h *Hub) wantsBack(p *hostPeer) {
	m := Message{From: h.address, Frame: &wire.Hello{
		Version: wire.Version, Role: wire.Host, Session: p.who.ID, Workspace: p.workspace(),
	}}
	if err := h.bus.Send(workspaceAddress(p.workspace()), m); err != nil {
		h.log.Info("a workspace is not given back yet", "workspace", p.workspace(), "err", err)
	}
	select {
	case <-time.After(50 * time.Millisecond):
	case <-h.base.Done():
	}
}

// wanted answers another hub, at the address to, that has a host for the workspace.
func (p *hostPeer) wanted(to string, f *wire.Hello) {
	p.mu.Lock()
	away := p.away
	p.mu.Unlock()
	switch {
	case away:
		p.end(websocket.StatusGoingAway, "the host is at another gateway now")
	case f.Session != "" && f.Session == p.who.ID: // its connection may be lost, and not show it
		p.end(websocket.StatusPolicyViolation, takenOver)
	default:
		p.answer(to, &wire.Event{Event: hostStays, Workspace: p.workspace()})
	}
}

// lost ends the session, since another process owns the workspace's address. The host
// may connect again.
func (p *hostPeer) lost() {
	p.end(websocket.StatusGoingAway, "this gateway was cut off from the others, and another one has taken the workspace")
}

// publish tells all hubs that the host comes or goes.
func (p *hostPeer) publish(event string) {
	e := &wire.Event{Event: event, Workspace: p.workspace()}
	if event == wire.HostUp {
		e.Tools = p.hello.Tools
	}
	if err := p.h.bus.Publish(presence, Message{From: p.h.address, Frame: e}); err != nil {
		p.log.Error("bus", "event", event, "workspace", p.workspace(), "err", err)
	}
}

// present takes what is published about hosts, and tells agents and people.
func (h *Hub) present(m Message) {
	e, ok := m.Frame.(*wire.Event)
	if !ok {
		return
	}
	h.heardOf(m.From)
	if e.Event == hubAlive {
		return
	}
	h.mu.Lock()
	was, known := h.known[e.Workspace]
	switch {
	case e.Event == wire.HostUp:
		h.known[e.Workspace] = presentHost{e.Tools, m.From, time.Now()}
		if known && was.hub == m.From { // it is said again and again
			h.mu.Unlock()
			return
		}
	case was.hub != m.From: // the host has moved already
		h.mu.Unlock()
		return
	default:
		h.leftBy(e.Workspace)
	}
	if e.Event == wire.HostUp && known && !h.closed {
		h.serving.Go(func() { h.askAfter(e.Workspace) })
	}
	h.mu.Unlock()
	h.tellClients(e)
}

// askAfter asks the hub that has the host of a workspace now for the calls that are under
// way there. Those that went to the hub before have failed, and that may not be there any
// more to say so.
func (h *Hub) askAfter(workspace string) {
	for _, c := range h.callsSentTo(workspace) {
		if err := c.send(&wire.Progress{CallID: c.f.CallID, State: wire.Working}); err != nil {
			h.log.Warn("not asked after", "workspace", workspace, "call", c.f.CallID, "err", err)
		}
	}
}

// callsSentTo are the calls that the host of a workspace was sent, and that are not over.
func (h *Hub) callsSentTo(workspace string) []*call {
	h.mu.Lock()
	all := slices.Collect(maps.Values(h.calls))
	h.mu.Unlock()
	return slices.DeleteFunc(all, func(c *call) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.to != workspace || c.state != sent && c.state != ending
	})
}

// tellClients tells agents and people about a workspace.
func (h *Hub) tellClients(e *wire.Event) {
	for _, s := range h.allSessions() {
		if s.hello.Role != wire.Host {
			s.tellOf(e)
		}
	}
}

// tellOf tells a client about a workspace, if it wants to hear of it and may.
func (s *hubSession) tellOf(e *wire.Event) {
	if named := s.hello.Workspace; s.can(wire.CanEvents) && s.who.reaches(e.Workspace) && (named == "" || named == e.Workspace) {
		s.tell(e)
	}
}

// deliver takes what is for the host from the bus.
func (p *hostPeer) deliver(m Message) {
	switch f := m.Frame.(type) {
	case *wire.Hello: // the workspace has a host at another hub
		p.h.serving.Go(func() { p.wanted(m.From, f) })
		return
	case *wire.ToolCall:
		p.mu.Lock()
		away := p.away || p.leaves
		if !away {
			p.routes[f.CallID] = &route{to: m.From}
		}
		p.mu.Unlock()
		if away && p.h.shared {
			p.h.serving.Go(func() { p.answer(m.From, &wire.Cancel{CallID: f.CallID, Reason: callAgain}) })
			return
		}
		if away {
			p.answer(m.From, &wire.ToolResult{CallID: f.CallID, Error: string(tool.HostUnavailable)})
			return
		}
		if f.PartsFollow && !p.can(wire.CanParts) {
			p.passFailure(f.CallID, tool.FileTooLarge, "The workspace's host takes no contents in parts. Nothing was done.")
			return
		}
	case *wire.Progress: // a hub asks whether its call is here
		if !p.has(f.CallID) {
			p.h.serving.Go(func() {
				p.answer(m.From, &wire.ToolResult{CallID: f.CallID, Error: string(tool.HostUnavailable)})
			})
		}
		return
	case *wire.Cancel:
		if !p.can(wire.CanCancel) {
			p.log.Debug("host cannot cancel", "call", f.CallID)
			return
		}
	}
	if err := p.send(m.Frame); err != nil {
		p.log.Warn("not sent", "workspace", p.workspace(), "frame", wire.TypeOf(m.Frame), "err", err)
	}
}

// answer sends a frame to the hub that has a call.
func (p *hostPeer) answer(to string, f wire.Frame) {
	if err := p.h.bus.Send(to, Message{Frame: f}); err != nil {
		p.log.Warn("result dropped", "why", "its caller's hub is gone", "call", wire.CallOf(f), "err", err)
	}
}

func (p *hostPeer) handle(f wire.Frame) {
	switch f := f.(type) {
	case *wire.ToolResult, *wire.Progress, *wire.Part, *wire.Taken:
		p.pass(f)
	case *wire.Approval:
		p.approval(f)
	case *wire.Error:
		p.log.Info("host complains", "workspace", p.workspace(), "err", f.Message)
		if f.CallID != "" {
			p.passFailure(f.CallID, internalError, "the host did not understand the call: "+f.Message)
		}
	default:
		p.complain(wire.TypeOf(f)+": not for a host to send", wire.CallOf(f))
	}
}

// pass passes what the host says about a call to its caller's hub.
func (p *hostPeer) pass(f wire.Frame) {
	id := wire.CallOf(f)
	p.mu.Lock()
	r := p.routes[id]
	if r != nil {
		switch f := f.(type) {
		case *wire.ToolResult:
			if r.waiting = awaits(f); !r.waiting {
				delete(p.routes, id)
			}
		case *wire.Progress:
			r.waiting = f.State == wire.Waiting
		}
	}
	p.mu.Unlock()
	if r != nil {
		p.answer(r.to, f)
		return
	}
	p.log.Warn("result dropped", "why", "late, duplicate or of no call", "workspace", p.workspace(), "call", id, "frame", wire.TypeOf(f))
	p.endStray(f)
}

// passFailure passes a failed result on, in the hub's words.
func (p *hostPeer) passFailure(call string, code tool.Code, message string) {
	r := failure(code, message)
	r.CallID = call
	p.pass(r)
}

// endStray ends a call that the host goes on with and that has failed already, since
// the host was lost: its caller may have repeated it. (FILE-4)
func (p *hostPeer) endStray(f wire.Frame) {
	_, goesOn := f.(*wire.Progress)
	if r, ok := f.(*wire.ToolResult); ok {
		goesOn = awaits(r)
	}
	if goesOn && p.can(wire.CanCancel) {
		p.tell(&wire.Cancel{CallID: wire.CallOf(f), Reason: "lost"})
	}
}

// has reports whether the host has a call that is not over.
func (p *hostPeer) has(call string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.routes[call] != nil
}

// disconnected fails the calls that the host was at. Those that wait for a person go
// on when it is connected again. (FILE-4)
func (p *hostPeer) disconnected() {
	p.fail(false)
	p.publish(wire.HostDown)
}

func (p *hostPeer) resumed() {
	p.mu.Lock()
	p.away = false
	p.mu.Unlock()
	p.publish(wire.HostUp)
}

// ended gives the workspace back, and ends all that is under way there.
func (p *hostPeer) ended() {
	p.release()
	h := p.h
	h.mu.Lock()
	if h.hosts[p.workspace()] == p {
		delete(h.hosts, p.workspace())
	}
	h.mu.Unlock()
	p.fail(true)
	p.mu.Lock()
	for _, withdraw := range p.asking {
		withdraw()
	}
	p.mu.Unlock()
	p.publish(wire.HostDown)
}

// leave has the host go to another hub, once the calls that it has are over, or ctx is.
func (p *hostPeer) leave(ctx context.Context) {
	p.mu.Lock()
	p.leaves = true
	p.mu.Unlock()
	for busy := true; busy && ctx.Err() == nil; {
		p.mu.Lock()
		busy = len(p.routes) > 0
		p.mu.Unlock()
		if busy {
			select {
			case <-time.After(5 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}
	p.drained(ctx)
	p.end(websocket.StatusGoingAway, "the gateway is shutting down")
}

// fail fails calls: all of them, or those that do not wait for a person.
func (p *hostPeer) fail(all bool) {
	p.mu.Lock()
	p.away = true
	lost := map[string]string{}
	for id, r := range p.routes {
		if all || !r.waiting {
			lost[id] = r.to
			delete(p.routes, id)
		}
	}
	p.mu.Unlock()
	for id, to := range lost {
		p.answer(to, &wire.ToolResult{CallID: id, Error: string(tool.HostUnavailable)})
	}
}
