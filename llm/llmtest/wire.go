package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/openai"
)

// wire is a wire format, from the provider's side.
type wire struct {
	name     string
	idPrefix string // prefix of call ids
	codec    llm.Codec
	// whole writes an answer that is not streamed.
	whole func(a answer) []byte
	// events writes a streamed answer.
	events func(a answer) []event
	// failure writes an error body.
	failure func(status int, message string) []byte
	// broken writes the event by which a stream reports a failure.
	broken func(message string) event
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
	binding *binding // nil: the server is lax, or the format has no binding
	array   bool     // the stream is one JSON array instead of events
}

// wires maps the paths for answers to their formats. The paths of geminiWire contain model names, so they are not in it.
var wires = map[string]*wire{
	"/v1/messages": {
		name: "messages", idPrefix: "toolu", codec: anthropic.Messages{},
		whole: messagesWhole, events: messagesEvents, failure: messagesFailure, broken: messagesBroken,
	},
	"/v1/chat/completions": {
		name: "chat", idPrefix: "call", codec: openai.Chat{},
		whole: chatWhole, events: chatEvents, failure: openaiFailure, broken: openaiBroken,
	},
	"/v1/responses": {
		name: "responses", idPrefix: "call", codec: openai.Responses{},
		whole: responsesWhole, events: responsesEvents, failure: openaiFailure, broken: responsesBroken,
	},
}

// calls reports whether the answer calls tools.
func (a answer) calls() bool {
	for _, p := range a.Message.Parts {
		if p.Kind == llm.ToolCall {
			return true
		}
	}
	return false
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
