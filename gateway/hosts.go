package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// hostSide is a session with the host of a workspace.
type hostSide struct {
	p       *peer
	release func() // of the workspace's address

	mu     sync.Mutex
	away   bool
	routes map[string]*route             // of the calls that the host has
	asking map[string]context.CancelFunc // questions to the gateway's people, by the host's id
}

// route is where a call's result goes.
type route struct {
	from    string
	waiting bool // for a person
}

func newHostSide(p *peer) *hostSide {
	return &hostSide{p: p, routes: map[string]*route{}, asking: map[string]context.CancelFunc{}}
}

func (s *hostSide) workspace() string { return s.p.hello.Workspace }

// begin takes the workspace. A host takes it over from one with the same token.
func (s *hostSide) begin() (err error) {
	h := s.p.h
	for range 2 {
		s.release, err = h.bus.Own(workspaceAddress(s.workspace()), s.deliver)
		if !errors.Is(err, ErrTaken) {
			break
		}
		h.mu.Lock()
		old := h.hosts[s.workspace()]
		h.mu.Unlock()
		if old == nil || old.p.who.ID != s.p.who.ID {
			return &wire.Error{Code: Taken, Message: fmt.Sprintf("workspace %q has a host already", s.workspace())}
		}
		old.p.end(websocket.StatusPolicyViolation, Taken+": another host with the same token has taken the workspace over", true)
	}
	if err != nil {
		return &wire.Error{Code: Taken, Message: err.Error()}
	}
	h.mu.Lock()
	h.hosts[s.workspace()] = s
	h.mu.Unlock()
	s.publish(wire.HostUp)
	return nil
}

// Taken is the code of the *wire.Error for a host whose workspace has another one,
// or gets it.
const Taken = "workspace_taken"

// publish tells all hubs that the host comes or goes.
func (s *hostSide) publish(what string) {
	e := &wire.Event{Event: what, Workspace: s.workspace()}
	if what == wire.HostUp {
		e.Tools = s.p.hello.Tools
	}
	if err := s.p.h.bus.Publish(presence, Message{From: s.p.h.address, Frame: e}); err != nil {
		s.p.h.log.Error("bus", "event", what, "workspace", s.workspace(), "err", err)
	}
}

// deliver takes what is for the host from the bus.
func (s *hostSide) deliver(m Message) {
	if f, ok := m.Frame.(*wire.ToolCall); ok {
		s.mu.Lock()
		away := s.away
		if !away {
			s.routes[f.CallID] = &route{from: m.From}
		}
		s.mu.Unlock()
		if away {
			s.answer(m.From, &wire.ToolResult{CallID: f.CallID, Error: string(tool.HostUnavailable)})
			return
		}
		if f.PartsFollow && !s.p.can(wire.CanParts) {
			r := failure(tool.FileTooLarge, "The workspace's host takes no contents in parts. Nothing was done.")
			r.CallID = f.CallID
			s.pass(r)
			return
		}
	}
	if c, ok := m.Frame.(*wire.Cancel); ok && !s.p.can(wire.CanCancel) {
		s.p.h.log.Debug("host cannot cancel", "call", c.CallID)
		return
	}
	if err := s.p.link.send(m.Frame); err != nil {
		s.p.h.log.Warn("not sent", "workspace", s.workspace(), "frame", wire.TypeOf(m.Frame), "err", err)
	}
}

func (s *hostSide) answer(to string, f wire.Frame) {
	if err := s.p.h.bus.Send(to, Message{Frame: f}); err != nil {
		s.p.h.log.Warn("result dropped", "why", "its caller's hub is gone", "call", callOf(f), "err", err)
	}
}

func (s *hostSide) handle(f wire.Frame) {
	switch f := f.(type) {
	case *wire.ToolResult:
		s.pass(f)
	case *wire.Progress:
		s.pass(f)
	case *wire.Part:
		s.pass(f)
	case *wire.Taken:
		s.pass(f)
	case *wire.Approval:
		s.approval(f)
	case *wire.Error:
		s.p.h.log.Info("host complains", "workspace", s.workspace(), "err", f.Message)
		if f.CallID != "" {
			r := failure(internalError, "the host did not understand the call: "+f.Message)
			r.CallID = f.CallID
			s.pass(r)
		}
	default:
		s.complain(wire.TypeOf(f)+": not for a host to send", callOf(f))
	}
}

func (s *hostSide) complain(message, call string) {
	if err := s.p.link.send(&wire.Error{Code: wire.Malformed, Message: message, CallID: call}); err != nil {
		s.p.h.log.Debug("not sent", "workspace", s.workspace(), "err", err)
	}
}

// pass hands what the host says about a call to its caller's hub.
func (s *hostSide) pass(f wire.Frame) {
	id := callOf(f)
	s.mu.Lock()
	r := s.routes[id]
	if r != nil {
		switch f := f.(type) {
		case *wire.ToolResult:
			if r.waiting = awaits(f); !r.waiting {
				delete(s.routes, id)
			}
		case *wire.Progress:
			r.waiting = f.State == wire.Waiting
		}
	}
	s.mu.Unlock()
	if r == nil {
		s.p.h.log.Warn("result dropped", "why", "late, duplicate or of no call", "workspace", s.workspace(), "call", id, "frame", wire.TypeOf(f))
		s.stray(f)
		return
	}
	s.answer(r.from, f)
}

// stray ends a call that the host goes on with and that has failed already, since
// the host was lost: its caller may have repeated it. (FILE-4)
func (s *hostSide) stray(f wire.Frame) {
	switch f := f.(type) {
	case *wire.ToolResult:
		if !awaits(f) {
			return
		}
	case *wire.Progress:
	default:
		return
	}
	if !s.p.can(wire.CanCancel) {
		return
	}
	if err := s.p.link.send(&wire.Cancel{CallID: callOf(f), Reason: "lost"}); err != nil {
		s.p.h.log.Debug("not sent", "workspace", s.workspace(), "err", err)
	}
}

// has reports whether the host has a call that is not over.
func (s *hostSide) has(call string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.routes[call] != nil
}

// awaits reports whether a result says that the call waits for a person, and that
// another one follows.
func awaits(r *wire.ToolResult) bool {
	return r.NeedsConfirmation && r.Result == nil && r.Error == ""
}

// lost fails the calls that the host was at. Those that wait for a person go on
// when it is back. (FILE-4)
func (s *hostSide) lost() {
	s.fail(false)
	s.publish(wire.HostDown)
}

func (s *hostSide) back() {
	s.mu.Lock()
	s.away = false
	s.mu.Unlock()
	s.publish(wire.HostUp)
}

func (s *hostSide) gone() {
	s.release()
	h := s.p.h
	h.mu.Lock()
	if h.hosts[s.workspace()] == s {
		delete(h.hosts, s.workspace())
	}
	h.mu.Unlock()
	s.fail(true)
	s.mu.Lock()
	for _, withdraw := range s.asking {
		withdraw()
	}
	s.mu.Unlock()
	s.publish(wire.HostDown)
}

// fail fails calls: all of them, or those that do not wait for a person.
func (s *hostSide) fail(all bool) {
	s.mu.Lock()
	s.away = true
	lost := map[string]string{}
	for id, r := range s.routes {
		if all || !r.waiting {
			lost[id] = r.from
			delete(s.routes, id)
		}
	}
	s.mu.Unlock()
	for id, from := range lost {
		s.answer(from, &wire.ToolResult{CallID: id, Error: string(tool.HostUnavailable)})
	}
}

// present takes what is published about hosts, and tells agents and people.
func (h *Hub) present(m Message) {
	e, ok := m.Frame.(*wire.Event)
	if !ok {
		return
	}
	h.mu.Lock()
	if e.Event == wire.HostUp {
		h.known[e.Workspace] = e.Tools
	} else {
		delete(h.known, e.Workspace)
	}
	var told []*peer
	for p := range h.sessions {
		if p.hello.Role != wire.Host && p.can(wire.CanEvents) && p.who.reaches(e.Workspace) {
			told = append(told, p)
		}
	}
	h.mu.Unlock()
	for _, p := range told {
		if w := p.hello.Workspace; w == "" || w == e.Workspace {
			if err := p.link.send(e); err != nil {
				h.log.Debug("not sent", "session", p.id, "err", err)
			}
		}
	}
}
