package gateway

import "sync"

// fair lets calls to one workspace in, as far as bytes in flight and calls of a
// session go, and has the sessions take turns where there is not room for all.
type fair struct {
	bytes int // that may be in flight
	calls int // of one session

	mu       sync.Mutex
	flying   int
	aside    int // bytes of those that wait for a person
	sessions map[string]*lane
	ring     []*lane // those with tickets that wait, in the order of their turns
}

type lane struct {
	name    string
	flying  int // calls
	waiting []*ticket
}

// ticket is a call's.
type ticket struct {
	of    *fair
	lane  *lane
	size  int
	enter func() // called once it is let in, without a lock held
	state byte
}

const (
	waits byte = iota
	inside
	aside
	gone
)

// besides is how many times the bytes in flight may wait for a person beside them.
const besides = 8

// ask asks for size bytes of room. enter is called when there is, before ask
// returns or later. The ticket has to be given back.
func (f *fair) ask(session string, size int, enter func()) *ticket {
	f.mu.Lock()
	if f.sessions == nil {
		f.sessions = map[string]*lane{}
	}
	l := f.sessions[session]
	if l == nil {
		l = &lane{name: session}
		f.sessions[session] = l
	}
	t := &ticket{of: f, lane: l, size: size, enter: enter}
	if len(f.ring) == 0 && f.room(t) {
		f.let(t)
		f.mu.Unlock()
		enter()
		return t
	}
	if l.waiting = append(l.waiting, t); len(l.waiting) == 1 {
		f.ring = append(f.ring, l)
	}
	let := f.next()
	f.mu.Unlock()
	for _, t := range let {
		t.enter()
	}
	return t
}

// step has a call that waits for a person make room for others: how long a person
// takes is no reason for them to wait. It stays one of its session's calls. Where
// too many bytes stand aside already, it keeps its room.
func (t *ticket) step() {
	f := t.of
	f.mu.Lock()
	var let []*ticket
	if t.state == inside && f.aside+t.size <= besides*f.bytes {
		t.state = aside
		f.flying -= t.size
		f.aside += t.size
		let = f.next()
	}
	f.mu.Unlock()
	for _, t := range let {
		t.enter()
	}
}

// back gives the room back, or the place among those that wait.
func (t *ticket) back() {
	f := t.of
	f.mu.Lock()
	switch t.state {
	case gone:
		f.mu.Unlock()
		return
	case inside:
		f.flying -= t.size
		t.lane.flying--
	case aside:
		f.aside -= t.size
		t.lane.flying--
	case waits:
		for i, w := range t.lane.waiting {
			if w == t {
				t.lane.waiting = append(t.lane.waiting[:i:i], t.lane.waiting[i+1:]...)
				break
			}
		}
	}
	t.state = gone
	let := f.next()
	if t.lane.flying == 0 && len(t.lane.waiting) == 0 {
		delete(f.sessions, t.lane.name)
	}
	f.mu.Unlock()
	for _, t := range let {
		t.enter()
	}
}

// room reports whether a call may be let in. One that is larger than all the
// room is, when it is alone. The caller holds mu.
func (f *fair) room(t *ticket) bool {
	return t.lane.flying < f.calls && (f.flying == 0 || f.flying+t.size <= f.bytes)
}

func (f *fair) let(t *ticket) {
	t.state = inside
	f.flying += t.size
	t.lane.flying++
}

// next lets in whom there is room for, one of each session after the other. Who
// waits for bytes is not overtaken by those behind; who waits for calls of its own
// session is. The caller holds mu.
func (f *fair) next() (let []*ticket) {
	for passed := 0; passed < len(f.ring); {
		l := f.ring[0]
		if len(l.waiting) == 0 {
			f.ring = f.ring[1:]
			continue
		}
		t := l.waiting[0]
		switch {
		case f.room(t):
			f.let(t)
			let = append(let, t)
			l.waiting = l.waiting[1:]
			f.ring = append(f.ring[1:], l)
			passed = 0
		case l.flying >= f.calls:
			f.ring = append(f.ring[1:], l)
			passed++
		default:
			return let
		}
	}
	return let
}
