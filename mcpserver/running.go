package mcpserver

import (
	"context"
	"crypto/rand"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/tool"
)

// running is one call of the Caller, from its start until its result has been
// forgotten. It outlives the request that began it when that was answered
// with "pending", or with a question.
type running struct {
	call   tool.Call
	id     string // for await_result
	secret string // for requestState; nobody can guess it
	front  front
	cancel context.CancelFunc
	log    *slog.Logger
	asks   func() // called when it begins to wait for a person

	mu       sync.Mutex
	state    state
	detached bool          // answered with "pending"
	changed  chan struct{} // closed when the state is another
}

// state is where a running call is.
type state struct {
	phase  phase
	what   string // for people: what is waited for
	own    bool   // the person is the client's own user
	form   *form  // what the client is to ask its user; nil when nothing
	result *mcp.CallToolResult
	ended  time.Time
}

type phase uint8

const (
	working phase = iota // the tool works
	asking               // a person decides
	ended                // there is a result
)

// now returns the state, and a channel that is closed when it is no longer so.
func (r *running) now() (state, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state, r.changed
}

// set changes the state. Every change goes through here; once ended, a call
// stays so.
func (r *running) set(change func(*state)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state.phase == ended {
		return
	}
	change(&r.state)
	close(r.changed)
	r.changed = make(chan struct{})
}

// ask says that a person decides now, and returns what says that it is over.
func (r *running) ask(what string, own bool, f *form) (answered func()) {
	r.set(func(s *state) { *s = state{phase: asking, what: what, own: own, form: f} })
	r.asks()
	return func() { r.set(func(s *state) { *s = state{} }) }
}

func (r *running) end(result *mcp.CallToolResult) {
	r.set(func(s *state) { *s = state{phase: ended, result: result, ended: time.Now()} })
}

// answer takes what the client's user said to the open question.
func (r *running) answer(response mcp.InputResponse) {
	r.set(func(s *state) {
		if s.form != nil {
			s.form.answers <- response // there is room: a form is answered once
			*s = state{}
		}
	})
}

func (r *running) detach() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.detached = true
}

func (r *running) isDetached() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.detached
}

type runningKey struct{}

// runningIn returns the call that ctx belongs to, or nil.
func runningIn(ctx context.Context) *running {
	r, _ := ctx.Value(runningKey{}).(*running)
	return r
}

// kept is how many ended calls a client session may leave uncollected.
const kept = 64

// table holds the running calls, by session.
type table struct {
	keep time.Duration
	log  *slog.Logger

	mu       sync.Mutex
	sessions map[string]map[*running]bool
}

// begin enters a call into the table.
func (t *table) begin(call tool.Call, f front, cancel context.CancelFunc) *running {
	r := &running{
		call: call, id: shortID(), secret: rand.Text(), front: f, cancel: cancel, log: t.log,
		changed: make(chan struct{}),
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sessions == nil {
		t.sessions = map[string]map[*running]bool{}
	}
	of := t.sessions[call.Session]
	if of == nil {
		of = map[*running]bool{}
		t.sessions[call.Session] = of
	}
	t.sweep(of)
	of[r] = true
	return r
}

// sweep forgets ended calls that nobody came for: the old ones, and the
// oldest where there are too many.
func (t *table) sweep(of map[*running]bool) {
	var oldest *running
	var since time.Time
	count := 0
	for r := range of {
		s, _ := r.now()
		if s.phase != ended {
			continue
		}
		if time.Since(s.ended) > t.keep {
			delete(of, r)
			continue
		}
		count++
		if oldest == nil || s.ended.Before(since) {
			oldest, since = r, s.ended
		}
	}
	if count >= kept {
		delete(of, oldest)
	}
}

// forget removes a call whose result has been delivered.
func (t *table) forget(r *running) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.sessions[r.call.Session]
	delete(of, r)
	if len(of) == 0 {
		delete(t.sessions, r.call.Session)
	}
}

// find returns a session's call that is, or nil.
func (t *table) find(session string, is func(*running) bool) *running {
	t.mu.Lock()
	defer t.mu.Unlock()
	for r := range t.sessions[session] {
		if is(r) {
			return r
		}
	}
	return nil
}

// cancelSession cancels the calls of a session and forgets those that ended.
func (t *table) cancelSession(session string) {
	t.mu.Lock()
	of := t.sessions[session]
	delete(t.sessions, session)
	t.mu.Unlock()
	for r := range of {
		r.cancel()
	}
}

// cancelOf cancels the calls of a session that belongs to a user.
func (t *table) cancelOf(session, user string) {
	t.each(session, func(r *running) {
		if r.front.user == user {
			r.cancel()
		}
	})
}

// cancelAsking cancels the calls that wait for a person.
func (t *table) cancelAsking(session string) {
	t.each(session, func(r *running) {
		if now, _ := r.now(); now.phase == asking {
			r.cancel()
		}
	})
}

func (t *table) each(session string, f func(*running)) {
	t.mu.Lock()
	of := slices.Collect(maps.Keys(t.sessions[session]))
	t.mu.Unlock()
	for _, r := range of {
		f(r)
	}
}

func (t *table) cancelAll() {
	t.mu.Lock()
	all := t.sessions
	t.sessions = nil
	t.mu.Unlock()
	for _, of := range all {
		for r := range of {
			r.cancel()
		}
	}
}
