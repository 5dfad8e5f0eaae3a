package gateway

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/stet-dev/stet/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// agentPeer is what the hub does for an agent: it takes its calls.
type agentPeer struct {
	*hubSession
	room chan struct{} // one for each call that is not answered: when it is full nothing more is read

	mu       sync.Mutex
	calls    map[*call]struct{}
	byID     map[string]*call
	sessions map[clientSession]bool // that the agent has used
	late     recent                 // calls whose parts may still be on their way
	over     bool
}

// atOnce is how many calls of an agent may be under way or wait for room.
const atOnce = 256

func newAgentPeer(s *hubSession) *agentPeer {
	return &agentPeer{
		hubSession: s, room: make(chan struct{}, atOnce),
		calls: map[*call]struct{}{}, byID: map[string]*call{}, sessions: map[clientSession]bool{},
	}
}

// begin tells the agent of the workspaces that it can call.
func (p *agentPeer) begin() error {
	for _, w := range p.h.Workspaces() {
		if tools, ok := p.h.tools(w); ok {
			p.tellOf(&wire.Event{Event: wire.HostUp, Workspace: w, Tools: tools})
		}
	}
	return nil
}

// admit waits until there is room for a call, which is its own from then on.
func (p *agentPeer) admit(ctx context.Context, f wire.Frame) bool {
	if _, ok := f.(*wire.ToolCall); !ok {
		return true
	}
	select {
	case p.room <- struct{}{}:
		return true
	default:
	}
	select {
	case p.room <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (p *agentPeer) handle(f wire.Frame) {
	switch f := f.(type) {
	case *wire.ToolCall:
		p.call(f)
	case *wire.Cancel:
		c := p.find(f.CallID)
		if c == nil {
			p.complain("cancel: no such call is under way", f.CallID)
			return
		}
		c.cancel()
	case *wire.Part:
		p.part(f)
	case *wire.Taken:
		if c := p.find(f.CallID); c != nil { // else it has ended
			c.takenByCaller(f)
		}
	case *wire.Error:
		p.log.Info("agent complains", "session", p.id, "err", f.Message)
	default:
		p.complain(wire.TypeOf(f)+": not for an agent to send", wire.CallOf(f))
	}
}

// find is the call under way that the agent gave this id; nil if there is none.
func (p *agentPeer) find(id string) *call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byID[id]
}

// part passes a part on. Of a call that has ended some may still come. (FILE-9)
func (p *agentPeer) part(f *wire.Part) {
	if c := p.find(f.CallID); c != nil {
		c.partFromCaller(f)
		return
	}
	p.mu.Lock()
	late := p.late.has(f.CallID)
	p.mu.Unlock()
	if !late {
		p.complain("part: no such call is under way", f.CallID)
	}
}

// call begins a call that was admitted.
func (p *agentPeer) call(f *wire.ToolCall) {
	id, inParts := f.CallID, f.PartsFollow
	answer := func(r *wire.ToolResult, release func()) {
		<-p.room
		if inParts {
			p.mu.Lock()
			p.late.add(id)
			p.mu.Unlock()
		}
		r.CallID = id
		if err := p.sendHeld(r, release); err != nil {
			p.log.Debug("not sent", "session", p.id, "call", id, "err", err)
		}
	}
	name := f.Session
	if name == "" {
		name = p.id
	}
	if !isName(name) {
		answer(failure(tool.InvalidArgument, "A session is named by letters, digits, dots, - and _."), nil)
		return
	}
	workspace, err := p.h.workspaceFor(p.who, p.hello.Workspace)
	if err != nil {
		answer(failure(tool.HostUnavailable, err.Error()), nil)
		return
	}
	own := *f
	own.Client = p.hello.Client
	c := p.h.newCall(own, p.who, name, id, workspace)
	c.takesParts = p.can(wire.CanParts)
	c.tell = func(f wire.Frame) { p.pass(id, f) }
	counted, err := p.h.config.Quotas.Take(p.who, int64(len(f.Arguments)))
	var over *OverQuota
	c.done = func(r *wire.ToolResult, release func()) {
		if counted != nil {
			counted()
		}
		p.forget(id, c)
		answer(r, release)
	}
	switch {
	case errors.As(err, &over):
		c.fail(over.Code(), "Not done: "+over.Error()+".")
	case !p.remember(id, c):
		c.fail(tool.Cancelled, "The session is over. Nothing was done.")
	case !c.takeRequestRoom():
		c.fail(tool.RateLimited, noRoom)
	default:
		p.h.start(c)
	}
}

// remember notes a call, unless the session is over.
func (p *agentPeer) remember(id string, c *call) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sessions[clientSession{c.f.Session, c.to}] = true
	p.calls[c] = struct{}{}
	if p.byID[id] == nil {
		p.byID[id] = c
	}
	return !p.over
}

func (p *agentPeer) forget(id string, c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.calls, c)
	if p.byID[id] == c {
		delete(p.byID, id)
	}
}

// pass passes on what happens to a call, under the agent's id. The frame is its own.
func (p *agentPeer) pass(id string, f wire.Frame) {
	switch f := f.(type) {
	case *wire.ToolResult:
		f.CallID = id
	case *wire.Progress:
		if !p.can(wire.CanProgress) {
			return
		}
		f.CallID = id
	case *wire.Part:
		f.CallID = id
	case *wire.Taken:
		f.CallID = id
	}
	p.tell(f)
}

func (p *agentPeer) disconnected() {}

func (p *agentPeer) resumed() {}

// ended ends the agent's calls: there is no session for their results.
func (p *agentPeer) ended() {
	p.mu.Lock()
	p.over = true
	calls := slices.Collect(maps.Keys(p.calls))
	sessions := slices.Collect(maps.Keys(p.sessions))
	p.mu.Unlock()
	for _, c := range calls {
		c.cancel()
	}
	for _, s := range sessions {
		p.h.leave(s)
	}
}
