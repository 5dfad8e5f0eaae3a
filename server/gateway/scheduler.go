package gateway

import (
	"slices"
	"sync"
)

// scheduler admits calls to one workspace within the limits for bytes in flight and for calls of a session. When there is not room
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

// slot is the place of one call in the scheduler.
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

// ask asks for size bytes of room. enter is called when there is room, before ask returns or later. The caller must end the slot.
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

// yield frees the room of a call that waits for a person, because other calls should not wait for a person. The call still counts
// as a call of its session. If too many bytes have yielded already, the call keeps its room.
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

// end frees the room, or removes the call from the queue. Further calls do nothing.
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

// letIn admits calls while there is room, one of each session in turn, and releases mu, which the caller holds. A call that waits
// for bytes blocks the calls behind it. A call that waits only because of its session's limit does not.
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
		case f.inFlight > 0 && f.inFlight+t.size > f.bytes: // a call larger than the whole room is admitted alone
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
