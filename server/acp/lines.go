package acp

import (
	"encoding/json"
	"errors"
	"io"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/stet-dev/stet/internal/rpclines"
)

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
