package acp

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
)

// lineWriter writes the lines of the SDK and of the lineReader. It counts the requests without a response.
type lineWriter struct {
	out  io.Writer
	fail func(error) // called after the first write that fails

	writing sync.Mutex // held while a line is written: only writers wait for the client
	err     error      // the first error, after which nothing is written; protected by writing

	mu        sync.Mutex
	waiting   int               // requests without a response
	idle      chan struct{}     // closed when every request has a response; nil: no goroutine waits for that
	followUps map[string][]byte // by session: the line that follows the response with that session's id
}

// requested counts a received request.
func (w *lineWriter) requested() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting++
}

// followUp makes line follow the response that has the session's id.
func (w *lineWriter) followUp(session string, line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.followUps == nil {
		w.followUps = map[string][]byte{}
	}
	w.followUps[session] = line
}

// Write implements io.Writer. Each call must have complete lines.
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

// allAnswered returns a channel that is closed when every request has a response.
func (w *lineWriter) allAnswered() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	idle := make(chan struct{})
	w.idle = idle
	w.closeIdle()
	return idle
}

// closeIdle closes idle if every request has a response. The caller holds mu.
func (w *lineWriter) closeIdle() {
	if w.idle != nil && w.waiting <= 0 {
		close(w.idle)
		w.idle = nil
	}
}

// responseIn reports whether a line of the agent is a response, and returns the session id in its result.
func responseIn(line []byte) (ok bool, session string) {
	if bytes.HasPrefix(line, []byte(`{"jsonrpc":"2.0","method"`)) {
		return false, "" // a notification, like most lines
	}
	var m struct {
		Method string
		Result struct{ SessionID string }
	}
	_ = json.Unmarshal(line, &m) // a result of another form has no session id
	return m.Method == "", m.Result.SessionID
}
