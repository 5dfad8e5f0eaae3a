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

// activeCall is one call of the Caller, from its start until its result is delivered. If its request was answered with "pending"
// or with a question, the call continues after that request.
type activeCall struct {
	call   tool.Call
	id     string // for await_result
	secret string // for requestState; random and too long to be guessed
	user   clientUser
	cancel context.CancelFunc
	log    *slog.Logger
	onAsk  func() // called when the call starts to wait for a person

	mu       sync.Mutex
	state    state
	detached bool          // answered with "pending"
	changed  chan struct{} // closed when the state changes
}

// state is the progress of a call.
type state struct {
	phase  phase
	what   string // for people: what the call waits for
	own    bool   // the person is the client's user
	form   *form  // the question that the client is to put to its user; nil: none
	result *mcp.CallToolResult
	ended  time.Time
}

type phase uint8

const (
	working phase = iota // the tool is running
	asking               // a person is deciding
	ended                // there is a result
)

// current returns the state, and a channel that is closed when the state changes.
func (r *activeCall) current() (state, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state, r.changed
}

// update changes the state. A call that has ended keeps its state.
func (r *activeCall) update(change func(*state)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state.phase == ended {
		return
	}
	change(&r.state)
	close(r.changed)
	r.changed = make(chan struct{})
}

// set replaces the state.
func (r *activeCall) set(next state) { r.update(func(s *state) { *s = next }) }

// ask sets the state to asking: a person is deciding. The caller calls answered when the decision is made.
func (r *activeCall) ask(what string, own bool, f *form) (answered func()) {
	r.set(state{phase: asking, what: what, own: own, form: f})
	r.onAsk()
	return func() { r.set(state{}) }
}

func (r *activeCall) end(result *mcp.CallToolResult) {
	r.set(state{phase: ended, result: result, ended: time.Now()})
}

// answer passes the answer of the client's user to the open question.
func (r *activeCall) answer(response mcp.InputResponse) {
	r.update(func(s *state) {
		if s.form != nil {
			s.form.answers <- response // does not block: a form has one answer, and the channel has capacity for it
			*s = state{}
		}
	})
}

func (r *activeCall) detach() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.detached = true
}

func (r *activeCall) isDetached() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.detached
}

type callKey struct{}

// callIn returns the call that ctx belongs to, or nil.
func callIn(ctx context.Context) *activeCall {
	r, _ := ctx.Value(callKey{}).(*activeCall)
	return r
}

// maxEnded is the maximum number of ended calls of a client session that are kept for await_result.
const maxEnded = 64

// callTable has the active calls, by client session.
type callTable struct {
	keep time.Duration // how long the result of an ended call is kept
	log  *slog.Logger

	mu       sync.Mutex
	sessions map[string]map[*activeCall]bool
}

// add adds a call to the table.
func (t *callTable) add(r *activeCall) {
	r.id, r.secret, r.log, r.changed = shortID(), rand.Text(), t.log, make(chan struct{})
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sessions == nil {
		t.sessions = map[string]map[*activeCall]bool{}
	}
	calls := t.sessions[r.call.Session]
	if calls == nil {
		calls = map[*activeCall]bool{}
		t.sessions[r.call.Session] = calls
	}
	t.sweep(calls)
	calls[r] = true
}

// sweep removes ended calls whose result was not fetched: calls that ended more than keep ago, and the oldest one if there are
// maxEnded.
func (t *callTable) sweep(calls map[*activeCall]bool) {
	var oldest *activeCall
	var since time.Time
	count := 0
	for r := range calls {
		s, _ := r.current()
		if s.phase != ended {
			continue
		}
		if time.Since(s.ended) > t.keep {
			delete(calls, r)
			continue
		}
		count++
		if oldest == nil || s.ended.Before(since) {
			oldest, since = r, s.ended
		}
	}
	if count >= maxEnded {
		delete(calls, oldest)
	}
}

// forget removes a call whose result was delivered.
func (t *callTable) forget(r *activeCall) {
	t.mu.Lock()
	defer t.mu.Unlock()
	calls := t.sessions[r.call.Session]
	delete(calls, r)
	if len(calls) == 0 {
		delete(t.sessions, r.call.Session)
	}
}

// find returns a call of a session for which fits is true, or nil.
func (t *callTable) find(session string, fits func(*activeCall) bool) *activeCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	for r := range t.sessions[session] {
		if fits(r) {
			return r
		}
	}
	return nil
}

// cancel cancels the calls of a session for which fits is true.
func (t *callTable) cancel(session string, fits func(*activeCall) bool) {
	t.mu.Lock()
	calls := slices.Collect(maps.Keys(t.sessions[session]))
	t.mu.Unlock()
	for _, r := range calls {
		if fits(r) {
			r.cancel()
		}
	}
}

// cancelAsking cancels the calls of a session that wait for a person.
func (t *callTable) cancelAsking(session string) {
	t.cancel(session, func(r *activeCall) bool {
		now, _ := r.current()
		return now.phase == asking
	})
}

// endSession cancels all calls of a session and removes them from the table.
func (t *callTable) endSession(session string) {
	t.mu.Lock()
	calls := t.sessions[session]
	delete(t.sessions, session)
	t.mu.Unlock()
	for r := range calls {
		r.cancel()
	}
}
