package acp

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
)

// lineWriter writes the lines of the SDK and of the lineReader, and knows how
// many requests wait for their response.
type lineWriter struct {
	out  io.Writer
	fail func(error) // called when nothing can be written any more

	writing sync.Mutex // held while a line is written: only writers wait for the client
	err     error      // why nothing is written any more; guarded by writing

	mu        sync.Mutex
	waiting   int               // requests without a response
	idle      chan struct{}     // closed when no request waits; nil: no goroutine waits for that
	followUps map[string][]byte // by session: the line that goes out behind the response that names it
}

// requested counts a request that came in.
func (w *lineWriter) requested() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting++
}

// followUp has line go out right behind the response that names session.
func (w *lineWriter) followUp(session string, line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.followUps == nil {
		w.followUps = map[string][]byte{}
	}
	w.followUps[session] = line
}

// Write implements io.Writer. It is called with whole lines.
func (w *lineWriter) Write(line []byte) (int, error) {
	w.writing.Lock()
	defer w.writing.Unlock()
	n := len(line)
	isResponse, session := responseIn(line)
	if isResponse {
		w.mu.Lock()
		line = append(line[:n:n], w.followUps[session]...)
		delete(w.followUps, session)
		w.mu.Unlock()
	}
	if w.err == nil {
		if _, w.err = w.out.Write(line); w.err != nil {
			w.fail(w.err)
		}
	}
	if isResponse {
		w.mu.Lock()
		w.waiting--
		w.closeIdle()
		w.mu.Unlock()
	}
	return n, w.err
}

// allAnswered returns a channel that is closed when every request has its
// response.
func (w *lineWriter) allAnswered() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	idle := make(chan struct{})
	w.idle = idle
	w.closeIdle()
	return idle
}

// closeIdle closes idle if no request waits. The caller holds mu.
func (w *lineWriter) closeIdle() {
	if w.idle != nil && w.waiting <= 0 {
		close(w.idle)
		w.idle = nil
	}
}

// responseIn reports whether a line of the agent is a response, and the session
// that its result names.
func responseIn(line []byte) (ok bool, session string) {
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
