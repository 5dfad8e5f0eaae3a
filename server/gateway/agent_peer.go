package gateway

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// agentPeer is the hub's side of an agent session: it receives the agent's calls and starts them.
type agentPeer struct {
	*hubSession
	capacity chan struct{} // one slot for each unanswered call; when it is full, the hub stops reading from the agent

	mu       sync.Mutex
	calls    map[*call]struct{}
	byID     map[string]*call
	sessions []clientSession // the sessions that the agent has used, the oldest first
	late     recent          // ended calls whose remaining parts may still arrive
	over     bool
}

// atOnce is the limit of an agent's calls that run or wait for capacity.
const atOnce = 256

func newAgentPeer(s *hubSession) *agentPeer {
	return &agentPeer{
		hubSession: s, capacity: make(chan struct{}, atOnce),
		calls: map[*call]struct{}{}, byID: map[string]*call{}, late: recent{most: 2 * atOnce},
	}
}

// begin tells the agent which workspaces it can call.
func (p *agentPeer) begin() error {
	for _, w := range p.h.Workspaces() {
		if tools, ok := p.h.hosts.tools(w); ok {
			p.tellOf(&wire.Event{Event: wire.HostUp, Workspace: w, Tools: tools})
		}
	}
	return nil
}

// admit waits for a free slot for a call. The call then owns the slot.
func (p *agentPeer) admit(ctx context.Context, f wire.Frame) bool {
	if _, ok := f.(*wire.ToolCall); !ok {
		return true
	}
	select {
	case p.capacity <- struct{}{}:
		return true
	default:
	}
	select {
	case p.capacity <- struct{}{}:
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
		if c := p.find(f.CallID); c != nil { // nil if the call has ended
			c.takenByCaller(f)
		}
	case *wire.Error:
		p.log.Info("agent complains", "session", p.id, "err", f.Message)
	default:
		p.complain(wire.TypeOf(f)+": not for an agent to send", wire.CallOf(f))
	}
}

// find returns the running call with the agent's id, or nil.
func (p *agentPeer) find(id string) *call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byID[id]
}

// part forwards a part of a call's content. Parts of a call that has ended may still arrive.
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

// call starts a call that was admitted.
func (p *agentPeer) call(f *wire.ToolCall) {
	id, inParts := f.CallID, f.PartsFollow
	answer := func(r *wire.ToolResult, release func()) {
		<-p.capacity
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
	workspace, no := p.h.workspaceFor(p.who, p.hello.Workspace)
	if no != nil {
		answer(no, nil)
		return
	}
	own := *f
	own.Client = p.hello.Client
	c := p.h.newCall(own, p.who, name, id, workspace)
	c.takesParts = p.can(wire.CanParts)
	c.requestBytes, p.frameBytes = p.frameBytes, nil
	c.tell = func(f wire.Frame) { p.pass(id, f) }
	c.done = func(r *wire.ToolResult, release func()) {
		p.forget(id, c)
		answer(r, release)
	}
	switch {
	case !p.remember(id, c):
		c.fail(tool.Cancelled, "The session is over. Nothing was done.")
	case !c.takeRequestBytes():
		c.fail(tool.RateLimited, noCapacity)
	default:
		p.h.start(c)
	}
}

// remember adds a call to the running calls. It returns false if the session is over. Of too many client sessions, the oldest one is
// treated as over.
func (p *agentPeer) remember(id string, c *call) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if used := (clientSession{c.f.Session, c.to}); !slices.Contains(p.sessions, used) {
		if p.sessions = append(p.sessions, used); len(p.sessions) > limits.List {
			defer p.h.leave(p.sessions[0])
			p.sessions = slices.Delete(p.sessions, 0, 1)
		}
	}
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

// pass forwards a frame about a call to the agent, under the agent's id. pass may change the frame.
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

// ended ends the agent's calls: without a session their results cannot be delivered.
func (p *agentPeer) ended() {
	p.mu.Lock()
	p.over = true
	calls := slices.Collect(maps.Keys(p.calls))
	sessions := p.sessions
	p.mu.Unlock()
	for _, c := range calls {
		c.cancel()
	}
	for _, s := range sessions {
		p.h.leave(s)
	}
}
