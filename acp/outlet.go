package acp

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
)

// outlet takes what the SDK and the inlet write, whole lines, and knows how
// many requests wait for their response.
type outlet struct {
	w    io.Writer
	fail func(error) // told why nothing can be written any more

	writing sync.Mutex // held while a line is written: nothing else waits for the client
	broken  error      // guarded by writing

	mu      sync.Mutex
	waiting int
	idle    chan struct{}     // closed when no request waits any more; nil: nobody wants to know
	behind  map[string][]byte // lines that go out behind the response that names a new session
}

// asked counts a request that came in.
func (o *outlet) asked() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting++
}

// after has line go out right behind the response that brings session.
func (o *outlet) after(session string, line []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.behind == nil {
		o.behind = map[string][]byte{}
	}
	o.behind[session] = line
}

// Write implements io.Writer for a line.
func (o *outlet) Write(line []byte) (int, error) {
	o.writing.Lock()
	defer o.writing.Unlock()
	answers, session := response(line)
	n := len(line)
	if answers {
		line = append(line[:n:n], o.take(session)...)
	}
	if o.broken == nil {
		if _, o.broken = o.w.Write(line); o.broken != nil {
			o.fail(o.broken)
		}
	}
	if answers {
		o.answered()
	}
	return n, o.broken
}

// take returns the lines that go out behind the response that names session.
func (o *outlet) take(session string) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	line := o.behind[session]
	delete(o.behind, session)
	return line
}

// answered counts a response that went out.
func (o *outlet) answered() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting--
	o.tell()
}

// drained returns a channel that is closed when every request has its response.
func (o *outlet) drained() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.idle = make(chan struct{})
	idle := o.idle
	o.tell()
	return idle
}

// tell closes idle if it is time. The caller holds mu.
func (o *outlet) tell() {
	if o.idle != nil && o.waiting <= 0 {
		close(o.idle)
		o.idle = nil
	}
}

// response reports whether a line of ours is a response, and the session that
// its result names.
func response(line []byte) (ok bool, session string) {
	if bytes.HasPrefix(line, []byte(`{"jsonrpc":"2.0","method"`)) {
		return false, "" // a notification: most lines are
	}
	var m struct {
		Method string
		Result struct{ SessionID string }
	}
	_ = json.Unmarshal(line, &m) // a result of another shape names none
	return m.Method == "", m.Result.SessionID
}
