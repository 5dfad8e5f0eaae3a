package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/stet-dev/stet/internal/rpclines"
)

// The lines that the client and the SDK exchange.

// maxMessage is the maximum length of a message that is passed on, in bytes. At 10 MiB the SDK ends the connection.
const maxMessage = 10<<20 - 1024

// maxEnvelope is the limit of a message without its payload, in bytes.
const maxEnvelope = 1 << 20

var payloads = map[string]string{sdk.AgentMethodSessionPrompt: "prompt"}

// lineReader is between the client's lines and the SDK. It answers a line that is not a message, because the SDK ignores such a
// line. It counts requests. It applies a cancellation to the prompts that were received before it, and to no others, because the
// SDK starts requests in any order.
type lineReader struct {
	in   *rpclines.Reader
	out  *lineWriter
	sdk  io.Writer // input of the SDK
	conn *connection
}

// run reads until the end of input, which is not an error.
func (r *lineReader) run() error {
	for {
		m, err := r.in.Next()
		var refused *rpclines.Refusal
		switch {
		case errors.As(err, &refused):
			kind := sdk.NewInvalidRequest
			if refused.Code == rpclines.ParseError {
				kind = sdk.NewParseError
			}
			err = r.respond(refused.ID, "error", worded(kind, refused.Why))
		case errors.Is(err, io.EOF):
			return nil
		case err == nil:
			if why := rpclines.Oversize(m.Line, maxEnvelope, payloads); why == "" {
				err = r.take(m)
			} else if m.ID != nil {
				err = r.respond(m.ID, "error", worded(sdk.NewInvalidRequest, why))
			}
		}
		if err != nil {
			return err
		}
	}
}

// take answers a message or passes it on.
func (r *lineReader) take(m rpclines.Message) error {
	switch {
	case m.Method == sdk.AgentMethodSessionCancel:
		r.conn.cancel(sessionIn(m.Params))
		if m.ID == nil {
			return nil
		}
		return r.respond(m.ID, "result", nil)
	case m.Method == sdk.AgentMethodSessionPrompt && m.ID != nil:
		r.conn.promptArrived(sessionIn(m.Params))
	}
	if m.Method != "" && m.ID != nil {
		r.out.requested()
	}
	if _, err := r.sdk.Write(append(m.Line, '\n')); err != nil {
		return err
	}
	if m.Method == sdk.AgentMethodInitialize && !r.conn.isInitialized() {
		wait(r.out.allAnswered(), r.conn.over, finishTime) // later messages depend on the answer
	}
	return nil
}

// sessionIn returns the session that parameters name, or "".
func sessionIn(params json.RawMessage) string {
	var p struct {
		SessionID string `json:"sessionId"`
	}
	_ = json.Unmarshal(params, &p) // after an error SessionID is ""
	return p.SessionID
}

// respond writes a response without the SDK. member is "result" or "error".
func (r *lineReader) respond(id json.RawMessage, member string, value any) error {
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, member: value})
	if err != nil {
		return err
	}
	r.out.requested()
	_, err = r.out.Write(append(line, '\n'))
	return err
}

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
