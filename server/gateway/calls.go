package gateway

import (
	"cmp"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// calls are the running calls of a hub, and the ids of ended ones. It decides which call may begin, and when it is sent.
type calls struct {
	rates limits.Rates
	bytes int // limit of the calls to a workspace at once

	mu         sync.Mutex
	over       bool                  // no more calls are accepted
	running    map[string]*call      // by id
	ended      recent                // ids of ended calls
	schedulers map[string]*scheduler // of the calls to a workspace
	idle       chan struct{}         // closed when the last call has ended; nil: no goroutine waits for that
}

// start begins a call. The call's done is called once, possibly before start returns.
func (h *Hub) start(c *call) {
	tools, ok := h.hosts.toolsMoving(c.to)
	if !ok {
		c.fail(tool.HostUnavailable, h.hosts.noHost(c.to))
		return
	}
	if i := slices.IndexFunc(tools, func(t wire.Tool) bool { return t.Name == c.f.ToolName }); i >= 0 {
		c.spec = tools[i]
	}
	c.f.RequiresConfirmation = !c.spec.ReadOnly
	c.f.ApprovalTimeoutSeconds = min(c.f.ApprovalTimeoutSeconds, int(longest/time.Second))
	if code, message := h.calls.enter(c, h.hosts.repeats(c.to, c.f.ToolName)); code != "" {
		c.fail(code, message)
		return
	}
	c.begin()
}

// enter adds a call to the running calls, or returns why it cannot. again says that the id of an ended call may be used again.
func (cs *calls) enter(c *call, again bool) (code tool.Code, message string) {
	if wait, before := cs.rates.Take(c.f.Session, c.account, time.Now()); wait > 0 {
		c.unsaid = before > 0
		return tool.RateLimited, limits.TooMany(wait)
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	switch {
	case cs.over:
		return tool.HostUnavailable, "The gateway is shutting down."
	case cs.running[c.f.CallID] != nil:
		return tool.InvalidArgument, "A call with this call_id is under way in this session: an id is used for one call."
	case cs.ended.has(c.f.CallID) && !again:
		return tool.InvalidArgument, "This call_id was used before in this session: a call is done once."
	}
	cs.running[c.f.CallID] = c
	return "", ""
}

// forget removes a call that is over.
func (cs *calls) forget(c *call) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.running[c.f.CallID] == c {
		delete(cs.running, c.f.CallID)
		cs.ended.add(c.f.CallID)
	}
	if len(cs.running) == 0 && cs.idle != nil {
		close(cs.idle)
		cs.idle = nil
	}
}

// find returns the running call with that id, or nil; over says that the call has ended.
func (cs *calls) find(id string) (c *call, over bool) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c = cs.running[id]
	return c, c == nil && cs.ended.has(id)
}

// all returns the running calls.
func (cs *calls) all() []*call {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return slices.Collect(maps.Values(cs.running))
}

// sentTo returns the unfinished calls that were sent to a workspace's host.
func (cs *calls) sentTo(workspace string) []*call {
	return slices.DeleteFunc(cs.all(), func(c *call) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.to != workspace || c.state != sent && c.state != ending
	})
}

// refuse accepts no more calls. idle is closed when the running ones have ended.
func (cs *calls) refuse() (idle <-chan struct{}) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.over = true
	ended := cs.idle
	if ended == nil {
		ended = make(chan struct{})
	}
	if len(cs.running) > 0 {
		cs.idle = ended
	} else {
		close(ended)
	}
	return ended
}

// schedulerOf returns the scheduler for the calls to a workspace.
func (cs *calls) schedulerOf(workspace string) *scheduler {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	s := cs.schedulers[workspace]
	if s == nil {
		s = &scheduler{bytes: cs.bytes, calls: callsAtOnce}
		cs.schedulers[workspace] = s
	}
	return s
}

// result handles what a host or another hub says about a call. If the call is not running, the message is dropped and logged with
// the reason.
func (h *Hub) result(m Message) {
	if h.fromPeer(m) {
		return
	}
	id := wire.CallOf(m.Frame)
	c, late := h.calls.find(id)
	switch {
	case c != nil:
		c.fromHost(m.Frame)
	case late:
		h.log.Warn("result dropped", "why", "late or duplicate: the call is over", "call", id, "frame", wire.TypeOf(m.Frame))
	default:
		h.log.Warn("result dropped", "why", "no such call", "call", id, "frame", wire.TypeOf(m.Frame))
	}
}

// clientSession names a client session that has made calls to a workspace.
type clientSession struct{ name, workspace string }

// leave tells the host that a client session is over. Other hosts do not hear of it: with many agents and many hosts there would be more
// such messages than calls.
func (h *Hub) leave(s clientSession) {
	m := Message{Frame: &wire.Event{Event: wire.Ended, Session: s.name}}
	if err := h.bus.Send(workspaceAddress(s.workspace), m); err != nil {
		h.log.Debug("not sent", "workspace", s.workspace, "err", err)
	}
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

// scheduler admits calls to one workspace within the limits for bytes in flight and for calls of a session. When there is not capacity
// for all, the sessions take turns.
type scheduler struct {
	bytes int // limit of bytes in flight
	calls int // limit of calls of one session

	mu       sync.Mutex
	inFlight int // bytes
	yielded  int // bytes of calls that wait for a person
	sessions map[string]*sessionCalls
	ring     []*sessionCalls // sessions with waiting calls, in the order in which they are served
}

// sessionCalls are the calls of one session.
type sessionCalls struct {
	name     string
	inFlight int // calls
	waiting  []*slot
}

// slot is the turn of one call in the scheduler.
type slot struct {
	of      *scheduler
	session *sessionCalls
	size    int
	enter   func() // called once when the call is admitted, without a lock held
	state   slotState
}

type slotState byte

const (
	slotWaits slotState = iota
	slotInFlight
	slotYielded
	slotOver
)

// maxYielded limits the bytes that have yielded, as a multiple of the bytes in flight.
const maxYielded = 8

// ask asks for size bytes of capacity. enter is called when there is capacity, before ask returns or later. The caller must end the slot.
func (f *scheduler) ask(session string, size int, enter func()) *slot {
	f.mu.Lock()
	if f.sessions == nil {
		f.sessions = map[string]*sessionCalls{}
	}
	s := f.sessions[session]
	if s == nil {
		s = &sessionCalls{name: session}
		f.sessions[session] = s
	}
	t := &slot{of: f, session: s, size: size, enter: enter}
	if s.waiting = append(s.waiting, t); len(s.waiting) == 1 {
		f.ring = append(f.ring, s)
	}
	f.letIn()
	return t
}

// yield frees the capacity of a call that waits for a person, because other calls should not wait for a person. The call still counts
// as a call of its session. If too many bytes have yielded already, the call keeps its capacity.
func (t *slot) yield() {
	f := t.of
	f.mu.Lock()
	if t.state == slotInFlight && f.yielded+t.size <= maxYielded*f.bytes {
		t.state = slotYielded
		f.inFlight -= t.size
		f.yielded += t.size
	}
	f.letIn()
}

// end frees the capacity, or removes the call from the queue. Further calls do nothing.
func (t *slot) end() {
	f := t.of
	f.mu.Lock()
	switch t.state {
	case slotInFlight:
		f.inFlight -= t.size
		t.session.inFlight--
	case slotYielded:
		f.yielded -= t.size
		t.session.inFlight--
	case slotWaits:
		t.session.waiting = slices.DeleteFunc(t.session.waiting, func(w *slot) bool { return w == t })
		if len(t.session.waiting) == 0 {
			f.ring = slices.DeleteFunc(f.ring, func(s *sessionCalls) bool { return s == t.session })
		}
	}
	t.state = slotOver
	if s := t.session; s.inFlight == 0 && len(s.waiting) == 0 && f.sessions[s.name] == s {
		delete(f.sessions, s.name)
	}
	f.letIn()
}

// letIn admits calls while there is capacity, one of each session in turn, and releases mu, which the caller holds. A call that waits
// for bytes blocks the calls after it. A call that waits only because of its session's limit does not.
func (f *scheduler) letIn() {
	var let []*slot
	for passed := 0; passed < len(f.ring); {
		s := f.ring[0]
		t := s.waiting[0]
		switch {
		case s.inFlight >= f.calls:
			f.ring = append(f.ring[1:], s)
			passed++
			continue
		case f.inFlight > 0 && f.inFlight+t.size > f.bytes: // a call larger than the whole capacity is admitted alone
			passed = len(f.ring)
			continue
		}
		t.state = slotInFlight
		f.inFlight += t.size
		s.inFlight++
		let = append(let, t)
		f.ring = f.ring[1:]
		if s.waiting = s.waiting[1:]; len(s.waiting) > 0 {
			f.ring = append(f.ring, s)
		}
		passed = 0
	}
	f.mu.Unlock()
	for _, t := range let {
		t.enter()
	}
}
