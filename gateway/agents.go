package gateway

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/stet-dev/stet/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// agentSide is a session with an agent.
type agentSide struct {
	p    *peer
	room chan struct{} // one for each call that is not answered: when it is full nothing more is read

	mu       sync.Mutex
	calls    map[*call]struct{}
	byID     map[string]*call
	sessions map[visit]bool // where it has made calls
	late     recent         // calls that have ended, and of which parts may be on their way
	over     bool
}

// atOnce is how many calls of an agent may be under way or wait for room.
const atOnce = 256

func newAgentSide(p *peer) *agentSide {
	return &agentSide{
		p: p, room: make(chan struct{}, atOnce),
		calls: map[*call]struct{}{}, byID: map[string]*call{}, sessions: map[visit]bool{},
	}
}

func (s *agentSide) begin() error {
	s.announce()
	return nil
}

// announce tells the agent of the workspaces that it can call.
func (s *agentSide) announce() {
	if !s.p.can(wire.CanEvents) {
		return
	}
	for _, w := range s.p.h.Workspaces() {
		if tools, ok := s.p.h.tools(w); ok && s.sees(w) {
			s.send(&wire.Event{Event: wire.HostUp, Workspace: w, Tools: tools})
		}
	}
}

// sees reports whether the agent may hear of a workspace.
func (s *agentSide) sees(workspace string) bool {
	return s.p.who.reaches(workspace) && (s.p.hello.Workspace == "" || s.p.hello.Workspace == workspace)
}

// send puts a frame on its way; where the session is over it has nowhere to go.
func (s *agentSide) send(f wire.Frame) { s.sendWith(f, nil) }

// sendWith is send that has gone called when the frame is no longer held.
func (s *agentSide) sendWith(f wire.Frame, gone func()) {
	if err := s.p.link.sendWith(f, gone); err != nil {
		s.p.h.log.Debug("not sent", "session", s.p.id, "frame", wire.TypeOf(f), "err", err)
	}
}

// admit waits until there is room for a call, which is its own from then on.
func (s *agentSide) admit(ctx context.Context, f wire.Frame) bool {
	if _, ok := f.(*wire.ToolCall); !ok {
		return true
	}
	select {
	case s.room <- struct{}{}:
		return true
	default:
	}
	select {
	case s.room <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *agentSide) handle(f wire.Frame) {
	switch f := f.(type) {
	case *wire.ToolCall:
		s.call(f)
	case *wire.Cancel:
		c := s.find(f.CallID)
		if c == nil {
			s.send(&wire.Error{Code: wire.Malformed, Message: "cancel: no such call is under way", CallID: f.CallID})
			return
		}
		c.cancel()
	case *wire.Part:
		s.part(f)
	case *wire.Taken:
		if c := s.find(f.CallID); c != nil { // else it has ended
			c.taken(f)
		}
	case *wire.Error:
		s.p.h.log.Info("agent complains", "session", s.p.id, "err", f.Message)
	default:
		s.send(&wire.Error{Code: wire.Malformed, Message: wire.TypeOf(f) + ": not for an agent to send", CallID: callOf(f)})
	}
}

// find is the call under way that the agent calls so; nil if there is none.
func (s *agentSide) find(id string) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id]
}

// part passes a part on. Of a call that has ended some may still come. (FILE-9)
func (s *agentSide) part(f *wire.Part) {
	if c := s.find(f.CallID); c != nil {
		c.part(f)
		return
	}
	s.mu.Lock()
	late := s.late.has(f.CallID)
	s.mu.Unlock()
	if late {
		s.p.h.log.Debug("part dropped", "why", "the call is over", "session", s.p.id, "call", f.CallID)
		return
	}
	s.send(&wire.Error{Code: wire.Malformed, Message: "part: no such call is under way", CallID: f.CallID})
}

// call begins a call that was admitted.
func (s *agentSide) call(f *wire.ToolCall) {
	id, inParts := f.CallID, f.PartsFollow
	answer := func(r *wire.ToolResult, release func()) {
		<-s.room
		if inParts {
			s.mu.Lock()
			s.late.add(id)
			s.mu.Unlock()
		}
		r.CallID = id
		s.sendWith(r, release)
	}
	name := f.Session
	if name == "" {
		name = s.p.id
	}
	if !isName(name) {
		answer(failure(tool.InvalidArgument, "A session is named by letters, digits, dots, - and _."), nil)
		return
	}
	workspace, err := s.p.h.workspaceFor(s.p.who, s.p.hello.Workspace)
	if err != nil {
		answer(failure(tool.HostUnavailable, err.Error()), nil)
		return
	}
	own := *f
	own.Session = s.p.who.sessionOf(name)
	own.Client = s.p.hello.Client
	own.TakesParts = true // for the agent, or to be put together here
	own.CallID = own.Session + "/" + id
	c := &call{h: s.p.h, f: own, to: workspace, who: s.p.who, account: s.p.who.ID, takes: s.p.can(wire.CanParts)}
	c.tell = func(f wire.Frame) { s.forward(id, f) }
	c.done = func(r *wire.ToolResult, release func()) {
		s.forget(id, c)
		answer(r, release)
	}
	switch {
	case !s.remember(id, c):
		c.fail(tool.Cancelled, "The session is over. Nothing was done.")
	case !c.hold():
		c.fail(tool.RateLimited, noRoom)
	default:
		s.p.h.start(c)
	}
}

// remember notes a call, unless the session is over.
func (s *agentSide) remember(id string, c *call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[visit{c.f.Session, c.to}] = true
	s.calls[c] = struct{}{}
	if s.byID[id] == nil {
		s.byID[id] = c
	}
	return !s.over
}

func (s *agentSide) forget(id string, c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, c)
	if s.byID[id] == c {
		delete(s.byID, id)
	}
}

// forward passes on what happens to a call.
func (s *agentSide) forward(id string, f wire.Frame) {
	switch f := f.(type) {
	case *wire.ToolResult:
		f.CallID = id
		s.send(f)
	case *wire.Progress:
		if s.p.can(wire.CanProgress) {
			f.CallID = id
			s.send(f)
		}
	case *wire.Part:
		f.CallID = id
		s.send(f)
	case *wire.Taken:
		f.CallID = id
		s.send(f)
	}
}

func (s *agentSide) lost() {}

func (s *agentSide) back() {}

// gone ends the agent's calls: nobody is there for their results.
func (s *agentSide) gone() {
	s.mu.Lock()
	s.over = true
	calls := slices.Collect(maps.Keys(s.calls))
	sessions := slices.Collect(maps.Keys(s.sessions))
	s.mu.Unlock()
	for _, c := range calls {
		c.cancel()
	}
	for _, v := range sessions {
		s.p.h.leave(v)
	}
}

// visit is a client session that has made calls to a workspace.
type visit struct{ session, workspace string }

// leave tells the host that the client session is over. Nobody else is told: with
// many agents and many hosts that would be more than all calls.
func (h *Hub) leave(v visit) {
	m := Message{Frame: &wire.Event{Event: wire.Ended, Session: v.session}}
	if err := h.bus.Send(workspaceAddress(v.workspace), m); err != nil {
		h.log.Debug("not told", "workspace", v.workspace, "err", err)
	}
}

// workspaceFor is where a call goes whose caller has named a workspace, or not.
func (h *Hub) workspaceFor(who Identity, named string) (string, error) {
	if named != "" {
		if !who.reaches(named) {
			return "", fmt.Errorf("this token is for workspace %q alone", who.Workspace)
		}
		return named, nil
	}
	if who.Workspace != "" {
		return who.Workspace, nil
	}
	switch all := h.Workspaces(); len(all) {
	case 0:
		return "", fmt.Errorf("no host is connected")
	case 1:
		return all[0], nil
	default:
		return "", fmt.Errorf("there are several workspaces, name one: %q", all)
	}
}
