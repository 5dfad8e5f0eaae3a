package openai

import "github.com/stet-dev/stet/internal/rawjson"

// SocketEvent holds the fields read from a client's or provider's message on a WebSocket of the Responses API.
type SocketEvent struct {
	Type   string // empty: no JSON object, or no type
	Lane   string // its "stream_id": a request and its response have the same lane
	Status int    // of an error
}

var socketKeys = [3]string{"type", "stream_id", "status"}

// ReadSocketEvent reads a message.
func ReadSocketEvent(text []byte) (e SocketEvent) {
	var f [3]rawjson.Span
	s := rawjson.New(text)
	if s.Object(socketKeys[:], f[:]).IsZero() {
		return e
	}
	rawjson.Said(text, f[0], &e.Type)
	rawjson.Said(text, f[1], &e.Lane)
	e.Status, _ = rawjson.Int(text, f[2])
	return e
}

var storeKeys = [1]string{"store"}

// Stored reports whether the provider stores the response to a request of the Responses API. It does so by default.
func Stored(body []byte) bool {
	var f [1]rawjson.Span
	s := rawjson.New(body)
	s.Object(storeKeys[:], f[:])
	return f[0].IsZero() || rawjson.True(body, f[0])
}
