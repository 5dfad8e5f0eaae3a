package llmtest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"sync"

	"github.com/coder/websocket"
)

// The Responses API over a WebSocket, as in the page "WebSocket mode" of its documentation. Each message
// "response.create" is the body of a POST; its answer is a sequence of events. A request that names an earlier response has
// only the new items. A socket knows its own last response, even with "store": false. It knows the responses of other sockets and of POST only
// if they were stored.

// maxResponses limits the number of responses that are held.
const maxResponses = 1000

// responses holds conversations by the ids of their responses.
type responses struct {
	mu    sync.Mutex
	items map[string][]json.RawMessage
}

// chain says where a request is in its conversation. It is nil for other APIs.
type chain struct {
	items  []json.RawMessage
	stored bool
	named  bool // the response needs an id of its own
}

// responseError is a refusal in the format of the API.
type responseError struct {
	status        int
	code, message string
}

func (e *responseError) object() object {
	return object{"type": "invalid_request_error", "code": e.code, "message": e.message, "param": "previous_response_id"}
}

// enter replaces a body's new items by all items of the conversation. own holds the conversations of the socket.
func (s *responses) enter(body []byte, own map[string][]json.RawMessage) ([]byte, *chain, *responseError) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return body, nil, nil // the codec reports the error
	}
	var previous, text string
	_ = json.Unmarshal(fields["previous_response_id"], &previous) // null means none
	c := &chain{stored: string(fields["store"]) != "false", named: own != nil || previous != "" || string(fields["store"]) == "true"}
	var fresh []json.RawMessage
	if json.Unmarshal(fields["input"], &fresh) != nil && json.Unmarshal(fields["input"], &text) == nil {
		fresh = []json.RawMessage{json.RawMessage(encode(object{"role": "user", "content": text}))}
	}
	if previous == "" {
		c.items = fresh
		return body, c, nil
	}
	before, ok := own[previous]
	if !ok {
		s.mu.Lock()
		before, ok = s.items[previous]
		s.mu.Unlock()
	}
	if !ok {
		return nil, nil, &responseError{http.StatusBadRequest, "previous_response_not_found", fmt.Sprintf("Previous response with id '%s' not found.", previous)}
	}
	c.items = append(before[:len(before):len(before)], fresh...)
	fields["input"] = json.RawMessage(encode(c.items))
	delete(fields, "previous_response_id")
	return []byte(encode(fields)), c, nil
}

// keep gives the answer an id and holds the conversation under it.
func (s *responses) keep(c *chain, a *answer, own map[string][]json.RawMessage) {
	if c == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.named { // the id is made from the conversation, so that it is the same in every run
		h := fnv.New64a()
		_, _ = io.WriteString(h, encode(c.items)) // a hash returns no errors
		a.ID = fmt.Sprintf("r%016x", h.Sum64())
	}
	items := c.items[:len(c.items):len(c.items)]
	for _, item := range responsesItems(*a) {
		items = append(items, json.RawMessage(encode(item)))
	}
	id := "resp_" + a.ID
	if own != nil {
		clear(own) // a socket knows only its last response
		own[id] = items
	}
	if c.stored {
		if s.items == nil || len(s.items) >= maxResponses {
			s.items = map[string][]json.RawMessage{}
		}
		s.items[id] = items
	}
}

// serveSocket serves one WebSocket until the client closes it.
func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return // Accept has sent an answer
	}
	defer func() { _ = c.CloseNow() }()
	c.SetReadLimit(-1)
	lanes := map[string]map[string][]json.RawMessage{}
	for {
		kind, text, err := c.Read(r.Context())
		if err != nil {
			return
		}
		if kind != websocket.MessageText {
			_ = c.Close(websocket.StatusUnsupportedData, "messages are JSON texts") // the client may be gone
			return
		}
		if !s.serveEvent(c, r, text, lanes) {
			return
		}
	}
}

// serveEvent answers one message. It returns false if the socket ends.
func (s *Server) serveEvent(c *websocket.Conn, r *http.Request, text []byte, lanes map[string]map[string][]json.RawMessage) bool {
	wire := responsesWire
	var said struct {
		Type     string
		Lane     string `json:"stream_id"`
		Generate *bool
	}
	send := func(data string) bool {
		if said.Lane != "" {
			var o object
			_ = json.Unmarshal([]byte(data), &o) // it was made here
			o["stream_id"] = said.Lane
			data = encode(o)
		}
		return c.Write(r.Context(), websocket.MessageText, []byte(data)) == nil
	}
	refuse := func(status int, e object) bool {
		return send(encode(object{"type": "error", "status": status, "error": e}))
	}
	if json.Unmarshal(text, &said) != nil || said.Type != "response.create" {
		return refuse(400, object{"type": "invalid_request_error", "code": "invalid_event", "message": "an event is a JSON object with a type that is known", "param": "type"})
	}
	got := &Request{Method: http.MethodPost, Path: r.URL.Path, Query: r.URL.RawQuery, Header: r.Header.Clone(), Body: text, Wire: wire.Name, Step: -1, Socket: true, Status: 200}
	update := s.record(got)
	fault, err := s.nextFault(http.Header{})
	if err != nil || fault.Reset {
		return false
	}
	if fault.Status != 0 {
		update(func(r *Request) { r.Status = fault.Status })
		return refuse(fault.Status, object{"type": "server_error", "code": "server_error", "message": fault.message(), "param": nil})
	}
	if lanes[said.Lane] == nil {
		lanes[said.Lane] = map[string][]json.RawMessage{}
	}
	own := map[string][]json.RawMessage{} // a lane may continue the response of another lane
	for _, known := range lanes {
		for id, items := range known {
			own[id] = items
		}
	}
	body, at, why := s.responses.enter(text, own)
	if why != nil {
		update(func(r *Request) { r.Status = why.status })
		return refuse(why.status, why.object())
	}
	req, err := wire.Codec.Decode(body)
	if err != nil {
		update(func(r *Request) { r.Status = 400 })
		return refuse(400, object{"type": "invalid_request_error", "code": "invalid_request", "message": err.Error(), "param": nil})
	}
	update(func(r *Request) { r.Decoded = req })
	wait(r.Context(), fault.Delay)
	a := answer{body: body, created: created}
	if said.Generate == nil || *said.Generate {
		if a, err = s.answer(wire, req, body, nil, update); err != nil {
			f := asFault(err)
			return refuse(f.Status, object{"type": "server_error", "code": "server_error", "message": f.message(), "param": nil})
		}
	}
	a.Model = req.Model
	s.responses.keep(at, &a, lanes[said.Lane])
	for i, e := range wire.events(a) {
		if fault.CutAfter > 0 && i == fault.CutAfter {
			return false
		}
		if !send(e.data) {
			return false
		}
		if i+1 >= fault.PauseAfter {
			wait(r.Context(), fault.Pause)
		}
	}
	return true
}
