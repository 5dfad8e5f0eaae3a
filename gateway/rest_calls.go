package gateway

import (
	"slices"
	"sync"
	"time"

	"github.com/stet-dev/stet/gateway/wire"
)

// restCalls are the calls that were made over plain HTTP: those under way, and for a
// time those that have ended. A call that waits for a person outlives its request, and
// the client asks for its result by its id.
type restCalls struct {
	mu    sync.Mutex
	byID  map[string]*restCall // by the id in the gateway
	ended []*restCall          // the oldest first
	bytes int                  // that they take

	clients []clientSession // that are not known to be over, the oldest first
}

// restCall is a call that was made over plain HTTP.
type restCall struct {
	call    *call
	done    chan struct{} // closed when there is a result
	result  *wire.ToolResult
	release func()        // gives back the bytes that are taken for the result
	expiry  *time.Timer   // drops the result
	waiting chan struct{} // closed when it waits for a person
	once    sync.Once     // closes waiting
}

// How long a result is kept once there is one. A large result is dropped before that
// when a client has got it.
const (
	kept      = 5 * time.Minute
	keptLarge = 30 * time.Second
)

// maxKept is how many bytes of calls that have ended are kept. Beyond that the oldest
// is dropped. Of each call its result counts, and keptCall for the rest of it.
const (
	maxKept  = 32 << 20
	keptCall = 4 << 10
)

// maxClients is how many client sessions are kept that are not known to be over. Beyond
// that the oldest is taken to be over.
const maxClients = 4096

// size is how many bytes the call takes once it has ended.
func (c *restCall) size() int { return keptCall + len(c.result.Result) }

// large reports whether the result takes much room.
func (c *restCall) large() bool { return len(c.result.Result) > smallAnswer }

// over reports whether there is a result.
func (c *restCall) over() bool { return closed(c.done) }

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// add adds a call, and reports whether it could. again says that a call under the same
// id may be made again once it has ended. over are client sessions that are too old.
func (r *restCalls) add(c *restCall, again bool) (over []clientSession, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := c.call.f.CallID
	if before := r.byID[id]; before != nil && !(again && before.over()) {
		return nil, false
	}
	r.byID[id] = c
	client := clientSession{c.call.f.Session, c.call.to}
	if !slices.Contains(r.clients, client) {
		r.clients = append(r.clients, client)
	}
	if n := len(r.clients) - maxClients; n > 0 {
		over = slices.Clone(r.clients[:n])
		r.clients = slices.Delete(r.clients, 0, n)
	}
	return over, true
}

// find is the call of that id; nil if there is none.
func (r *restCalls) find(id string) *restCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byID[id]
}

// expire drops a call some time after its end. Until then its result can be fetched
// again: an answer may be lost on its way.
func (r *restCalls) expire(c *restCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = append(r.ended, c)
	for r.bytes += c.size(); r.bytes > maxKept && len(r.ended) > 1; {
		r.remove(r.ended[0])
	}
	keep := kept
	if c.large() {
		keep = keptLarge
	}
	c.expiry = time.AfterFunc(keep, func() { r.drop(c) })
}

// drop drops a call that has ended. Requests that wait for it have its result.
func (r *restCalls) drop(c *restCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(c)
}

// remove is drop for callers that hold mu.
func (r *restCalls) remove(c *restCall) {
	i := slices.Index(r.ended, c)
	if i < 0 {
		return
	}
	r.ended = slices.Delete(r.ended, i, i+1)
	r.bytes -= c.size()
	c.release()
	c.expiry.Stop()                             // it holds the result
	if id := c.call.f.CallID; r.byID[id] == c { // else the call was made again
		delete(r.byID, id)
	}
}

// end takes a client session out, and returns its calls and where it has made any.
func (r *restCalls) end(session string) (calls []*call, over []clientSession) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.byID {
		if c.call.f.Session == session {
			calls = append(calls, c.call)
		}
	}
	r.clients = slices.DeleteFunc(r.clients, func(s clientSession) bool {
		if s.name == session {
			over = append(over, s)
		}
		return s.name == session
	})
	return calls, over
}
