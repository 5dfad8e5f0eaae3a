package gateway

import (
	"slices"
	"sync"
	"time"

	"github.com/stet-dev/stet/server/gateway/wire"
)

// restCalls has the calls made over plain HTTP: running calls, and for some time ended calls. A call that waits for a person
// outlives its request. The client then asks for the result by the call's id.
type restCalls struct {
	mu    sync.Mutex
	byID  map[string]*restCall // by the call's id in the gateway
	ended []*restCall          // the oldest first
	bytes int                  // of all ended calls

	clients []clientSession // client sessions not known to be over, the oldest first
}

// restCall is a call that was made over plain HTTP.
type restCall struct {
	call    *call
	done    chan struct{} // closed when there is a result
	result  *wire.ToolResult
	release func()        // gives back the bytes taken for the result
	expiry  *time.Timer   // drops the result
	waiting chan struct{} // closed when the call waits for a person
	once    sync.Once     // for closing waiting
}

// How long a result is kept. A large result is dropped earlier, once a client has received it.
const (
	kept      = 5 * time.Minute
	keptLarge = 30 * time.Second
)

// maxKept is the limit of bytes of ended calls. When it is exceeded, the oldest call is dropped. The size of a call is its result
// plus keptCall.
const (
	maxKept  = 32 << 20
	keptCall = 4 << 10
)

// maxClients is the limit of client sessions that are not known to be over. When it is exceeded, the oldest is treated as over.
const maxClients = 4096

// size returns the bytes of the call once it has ended.
func (c *restCall) size() int { return keptCall + len(c.result.Result) }

// large reports whether the result is large.
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

// add adds a call, and reports whether it could. again says that the id of an ended call may be used again. over has client
// sessions that are now treated as over.
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

// find returns the call with that id, or nil.
func (r *restCalls) find(id string) *restCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byID[id]
}

// expire drops an ended call after some time. Until then a client can fetch the result again, because an answer may be lost.
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

// drop removes an ended call. Requests that wait for it still get its result.
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
	c.expiry.Stop()                             // it refers to the result
	if id := c.call.f.CallID; r.byID[id] == c { // otherwise the call was made again
		delete(r.byID, id)
	}
}

// end removes a client session. It returns the session's calls and the workspaces that it called.
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
