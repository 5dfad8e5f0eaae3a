package llmtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/gemini"
	"github.com/stet-dev/stet/llm/openai"
)

// wire is an API from the provider's side.
type wire struct {
	llm.API
	idPrefix string // prefix of call ids
	// whole writes an answer that is not streamed.
	whole func(a answer) []byte
	// events writes a streamed answer.
	events func(a answer) []event
	// broken returns the event by which a stream reports a failure; nil: its data is an error body.
	broken func(message string) event
}

// failure writes an error body.
func (w *wire) failure(status int, message string) []byte {
	return []byte(encode(w.Error(llm.ErrorBody{Status: status, Message: message})))
}

// event is a server-sent event, or a piece of another stream.
type event struct {
	name, data string
	raw        string // the whole piece, if the stream does not consist of events
}

func (e event) append(dst []byte) []byte {
	if e.raw != "" {
		return append(dst, e.raw...)
	}
	if e.name != "" {
		dst = append(dst, "event: "+e.name+"\n"...)
	}
	return append(dst, "data: "+e.data+"\n\n"...)
}

// answer is a response on its way to one client.
type answer struct {
	llm.Response
	body    []byte   // body of the request
	created int64    // seconds since 1970
	thinks  bool     // Chat Completions contain thinking too
	ruled   Exchange // not nil for Messages and Chat Completions
	array   bool     // the stream is one JSON array instead of events
}

// wires are the APIs of the server.
var (
	messagesWire  = &wire{API: anthropic.API, idPrefix: "toolu", whole: messagesWhole, events: messagesEvents, broken: messagesBroken}
	responsesWire = &wire{API: openai.ResponsesAPI, idPrefix: "call", whole: responsesWhole, events: responsesEvents, broken: responsesBroken}
	wires         = []*wire{
		messagesWire, responsesWire,
		{API: openai.ChatAPI, idPrefix: "call", whole: chatWhole, events: chatEvents},
		{API: gemini.API, idPrefix: "fc", whole: geminiWhole, events: geminiEvents},
	}
)

// wireOf returns the API of a path for answers, or nil. pathed says that the path names the model.
func wireOf(path string) (w *wire, pathed bool) {
	_, _, pathed = gemini.Address(path)
	i := slices.IndexFunc(wires, func(w *wire) bool { return w.Path == path || pathed && w.Path == "" })
	if i < 0 {
		return nil, false
	}
	return wires[i], pathed
}

// stop returns the stop reason: the given one, or the API's word for an answer with calls or without.
func (a answer) stop(calls, done string) string {
	if a.StopReason == "" && slices.ContainsFunc(a.Message.Parts, func(p llm.Part) bool { return p.Kind == llm.ToolCall }) {
		return calls
	}
	return cmp.Or(a.StopReason, done)
}

// flag reports whether field is true in the named object at the top level of the request's body.
func (a answer) flag(object, field string) bool {
	var top map[string]json.RawMessage
	if json.Unmarshal(a.body, &top) != nil {
		return false
	}
	var in map[string]json.RawMessage
	return json.Unmarshal(top[object], &in) == nil && bytes.Equal(in[field], []byte("true"))
}

// pieces cuts text into the deltas of a stream. Each has at most n bytes, n > 4, and characters are not cut.
func pieces(text string, n int) []string {
	var out []string
	for len(text) > n {
		cut := n
		for cut > n-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
			cut--
		}
		out = append(out, text[:cut])
		text = text[cut:]
	}
	return append(out, text)
}

type object = map[string]any

// rawObject parses a part's JSON, as the handler gave it.
func rawObject(raw string) object {
	var o object
	if err := json.Unmarshal([]byte(raw), &o); err != nil {
		panic(fmt.Sprintf("a part's Raw is no object: %v", err))
	}
	return o
}
