package gateway

import (
	"slices"
	"sync"
)

// scheduler lets calls to one workspace in, as far as the limits for bytes in flight and
// for calls of a session allow. Where there is not room for all, the sessions take turns.
type scheduler struct {
	bytes int // that may be in flight
	calls int // of one session

	mu       sync.Mutex
	inFlight int // bytes
	yielded  int // bytes of calls that wait for a person
	sessions map[string]*sessionCalls
	ring     []*sessionCalls // those with calls that wait, in the order in which they are let in
}

// sessionCalls are the calls of one session.
type sessionCalls struct {
	name     string
	inFlight int // calls
	waiting  []*slot
}

// slot is the place of one call.
type slot struct {
	of      *scheduler
	session *sessionCalls
	size    int
	enter   func() // called once it is let in, without a lock held
	state   slotState
}

type slotState byte

const (
	slotWaits slotState = iota
	slotInFlight
	slotYielded
	slotOver
)

// maxYielded is how many times the bytes in flight may wait for a person beside them.
const maxYielded = 8

// ask asks for size bytes of room. enter is called when there is room, before ask
// returns or later. The slot has to be ended.
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

// yield has a call that waits for a person make room for others: how long a person
// takes is no reason for them to wait. It stays one of its session's calls. Where
// too many bytes have yielded already, it keeps its room.
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

// end gives the room back, or the place among those that wait. More calls do nothing.
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

// letIn lets in the calls that there is room for, one of each session after the other,
// and releases mu, which the caller holds. Who waits for bytes is not overtaken by those
// behind; who waits for calls of its own session is.
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
		case f.inFlight > 0 && f.inFlight+t.size > f.bytes: // a call larger than all the room enters alone
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
