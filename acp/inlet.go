package acp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	sdk "github.com/coder/acp-go-sdk"
)

// The longest line that is passed on, which the SDK's own limit is above, and
// the longest of which it is still found out whose answer it wants. Bytes.
const (
	maxLine  = 10<<20 - 1024
	maxEnded = 64 << 20
)

// inlet stands between the client's lines and the SDK, which passes over what
// is no JSON-RPC in silence and begins requests in no order. Here every request
// is counted, what is none is answered, and a cancellation takes hold of the
// prompts that came before it and of no other.
type inlet struct {
	in   *bufio.Reader
	out  *outlet
	sdk  io.Writer
	link *link
}

// run reads until the end of what comes in, which is no error.
func (i *inlet) run() error {
	for {
		line, err := i.next()
		if len(bytes.TrimSpace(line)) > 0 {
			if err := i.take(line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// next reads a line. Its end is put where it lacks.
func (i *inlet) next() ([]byte, error) {
	var line []byte
	for {
		part, err := i.in.ReadSlice('\n')
		line = append(line, part...) // the reader's own bytes change
		if len(line) > maxEnded {
			return nil, fmt.Errorf("a message of more than %d bytes", maxEnded)
		}
		if err == nil {
			return line, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return append(line, '\n'), err
		}
	}
}

// message is what is looked at of a line.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// take answers a line or passes it on.
func (i *inlet) take(line []byte) error {
	m, why := parse(line)
	if why != nil {
		return i.refuse(m.ID, why)
	}
	if len(line) > maxLine {
		return i.refuse(m.ID, worded(sdk.NewInvalidRequest, fmt.Sprintf("a message of %d bytes: at most %d", len(line), maxLine)))
	}
	switch {
	case m.Method == sdk.AgentMethodSessionCancel:
		i.link.cancel(sessionIn(m.Params))
		if m.ID == nil {
			return nil
		}
		return i.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": nil})
	case m.Method == sdk.AgentMethodSessionPrompt && m.ID != nil:
		i.link.arrived(sessionIn(m.Params))
	}
	if m.Method != "" && m.ID != nil {
		i.out.asked()
	}
	if _, err := i.sdk.Write(line); err != nil {
		return err
	}
	if m.Method == sdk.AgentMethodInitialize && !i.link.greeted() {
		wait(i.out.drained(), i.link.over, drain) // what comes behind it counts on it
	}
	return nil
}

// parse reads a line. Beside an error, the message has the ID to answer under.
func parse(line []byte) (message, *sdk.RequestError) {
	if !json.Valid(line) {
		return message{}, worded(sdk.NewParseError, "this line is not JSON")
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(line, &fields) != nil {
		return message{}, worded(sdk.NewInvalidRequest, "this line is no JSON-RPC message")
	}
	var m message
	if id, ok := fields["id"]; ok {
		if !isID(id) {
			return message{}, worded(sdk.NewInvalidRequest, "an id is a string or a number")
		}
		m.ID = id
	}
	method, called := fields["method"]
	switch {
	case called && (json.Unmarshal(method, &m.Method) != nil || m.Method == ""):
		return m, worded(sdk.NewInvalidRequest, "a method is a name")
	case !called && m.ID == nil:
		return m, worded(sdk.NewInvalidRequest, "this line has neither id nor method")
	}
	m.Params = fields["params"]
	return m, nil
}

func isID(id json.RawMessage) bool {
	return id[0] == '"' || id[0] == '-' || '0' <= id[0] && id[0] <= '9'
}

// sessionIn is the session that parameters name; "" where they name none.
func sessionIn(params json.RawMessage) string {
	var p struct {
		SessionID string `json:"sessionId"`
	}
	_ = json.Unmarshal(params, &p) // then they name none
	return p.SessionID
}

// refuse answers a line that is no message.
func (i *inlet) refuse(id json.RawMessage, why *sdk.RequestError) error {
	if id == nil {
		id = json.RawMessage("null")
	}
	return i.send(map[string]any{"jsonrpc": "2.0", "id": id, "error": why})
}

// send writes a response that the SDK knows nothing of.
func (i *inlet) send(response map[string]any) error {
	line, err := json.Marshal(response)
	if err != nil {
		return err
	}
	i.out.asked()
	_, err = i.out.Write(append(line, '\n'))
	return err
}
