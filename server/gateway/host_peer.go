package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// hostPeer is the hub's side of a host session. It owns the workspace's address on the bus. It passes calls to the host and results
// back.
type hostPeer struct {
	*hubSession
	release func() // gives back the workspace's address

	mu     sync.Mutex
	away   bool              // has no connection
	moves  bool              // is to move to another hub
	routes map[string]*route // the calls that the host has
	asking map[string]asking // questions to the gateway's people, by the host's id
}

// route is the destination of a call's result.
type route struct {
	to       string        // address on the bus
	waiting  bool          // waits for a person
	patience time.Duration // of a person, for one question
	over     bool          // it is to end: no person is asked any more
}

// asking is an open question of a host.
type asking struct {
	call     string
	withdraw context.CancelCauseFunc // with context.DeadlineExceeded, if the question has expired
}

func newHostPeer(s *hubSession) *hostPeer {
	return &hostPeer{hubSession: s, routes: map[string]*route{}, asking: map[string]asking{}}
}

func (p *hostPeer) workspace() string { return p.hello.Workspace }

// codeTaken is the code of the *wire.Error for a host whose workspace has, or gets, another host.
const codeTaken = "workspace_taken"

// moveTime is how long the previous hub of a host may take to give the workspace back.
const moveTime = time.Second

// begin takes the workspace. It replaces a host with the same token, and a host that has lost its connection to another hub. If
// another host has the workspace, the host is refused for good. If that is not known, the host is asked to try again later.
func (p *hostPeer) begin() (err error) {
	h := p.h
	begun := time.Now()
	for end := begun.Add(moveTime); ; {
		p.release, err = h.bus.Own(workspaceAddress(p.workspace()), p.deliver, p.lost)
		if !errors.Is(err, ErrTaken) {
			break
		}
		old, stays := h.hosts.holder(p.workspace(), begun)
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
	if err != nil { // an error of the bus, which may be temporary: the host is asked to try again
		h.log.Error("bus", "workspace", p.workspace(), "err", err)
		return &wire.Error{Code: string(tool.HostUnavailable), Message: "the gateway cannot take the workspace now: its bus does not work"}
	}
	h.hosts.join(p)
	p.publish(wire.HostUp)
	return nil
}

const takenOver = codeTaken + ": another host with the same token has taken the workspace over"

// wantsBack asks the hub that has a workspace to give it back for a host, and waits a short time. The Session of the hello is the
// host's token.
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

// wanted answers another hub, at address to, that has a host for the workspace.
func (p *hostPeer) wanted(to string, f *wire.Hello) {
	p.mu.Lock()
	away := p.away
	p.mu.Unlock()
	switch {
	case away:
		p.end(websocket.StatusGoingAway, "the host is at another gateway now")
	case f.Session != "" && f.Session == p.who.ID: // its connection may be lost without notice
		p.end(websocket.StatusPolicyViolation, takenOver)
	default:
		p.answer(to, &wire.Event{Event: hostStays, Workspace: p.workspace()})
	}
}

// lost ends the session because another process owns the workspace's address. The host may connect again.
func (p *hostPeer) lost() {
	p.end(websocket.StatusGoingAway, "this gateway was cut off from the others, and another one has taken the workspace")
}

// publish tells all hubs that the host has connected or gone.
func (p *hostPeer) publish(event string) {
	e := &wire.Event{Event: event, Workspace: p.workspace()}
	if event == wire.HostUp {
		e.Tools = p.hello.Tools
	}
	if err := p.h.bus.Publish(presence, Message{From: p.h.address, Frame: e}); err != nil {
		p.log.Error("bus", "event", event, "workspace", p.workspace(), "err", err)
	}
}

// deliver handles the messages for the host from the bus.
func (p *hostPeer) deliver(m Message) {
	switch f := m.Frame.(type) {
	case *wire.Hello: // another hub has a host for the workspace
		p.h.serving.Go(func() { p.wanted(m.From, f) })
		return
	case *wire.ToolCall:
		p.mu.Lock()
		away := p.away || p.moves
		if !away {
			p.routes[f.CallID] = &route{to: m.From, patience: seconds(f.ApprovalTimeoutSeconds, usualApproval)}
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
	case *wire.Progress:
		if f.State == wire.Waiting && p.can(wire.CanAdmit) { // a hub has counted the call's question
			break
		}
		if f.State == wire.Working && !p.has(f.CallID) {
			p.h.serving.Go(func() {
				p.answer(m.From, &wire.ToolResult{CallID: f.CallID, Error: string(tool.HostUnavailable)})
			})
		}
		return
	case *wire.Cancel:
		p.askNoMore(f)
		if !p.can(wire.CanCancel) {
			p.log.Debug("host cannot cancel", "call", f.CallID)
			return
		}
	}
	if err := p.send(m.Frame); err != nil {
		p.log.Warn("not sent", "workspace", p.workspace(), "frame", wire.TypeOf(m.Frame), "err", err)
	}
}

// answer sends a frame to the hub that made the call.
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

// pass forwards a frame of the host about a call to the caller's hub.
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

// passFailure sends a failed result with a message of the hub.
func (p *hostPeer) passFailure(call string, code tool.Code, message string) {
	r := failure(code, message)
	r.CallID = call
	p.pass(r)
}

// endStray ends a call that the host continues although it has failed here, because the host was lost. The caller may have repeated
// the call.
func (p *hostPeer) endStray(f wire.Frame) {
	_, goesOn := f.(*wire.Progress)
	if r, ok := f.(*wire.ToolResult); ok {
		goesOn = awaits(r)
	}
	if goesOn && p.can(wire.CanCancel) {
		p.tell(&wire.Cancel{CallID: wire.CallOf(f), Reason: "lost"})
	}
}

// has reports whether the host has this unfinished call.
func (p *hostPeer) has(call string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.routes[call] != nil
}

// disconnected fails the calls that the host was running. Calls that wait for a person continue when the host connects again.
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

// ended gives the workspace back, and ends all running calls and questions.
func (p *hostPeer) ended() {
	p.release()
	p.h.hosts.part(p)
	p.fail(true)
	p.mu.Lock()
	for _, a := range p.asking {
		a.withdraw(nil)
	}
	p.mu.Unlock()
	p.publish(wire.HostDown)
}

// leave tells the host to move to another hub, once its calls are over or ctx ends.
func (p *hostPeer) leave(ctx context.Context) {
	p.mu.Lock()
	p.moves = true
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

// fail fails all calls, or only those that do not wait for a person.
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
