// Package modeltest has the test suite that every llm.Model over HTTP passes. It uses the scripted model of llmtest, connections
// in memory and a fake clock. So the suite sees every wait of a client, and takes no time for it.
package modeltest

import (
	"context"
	"net"
	"net/http"
	"regexp"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/endpoint"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/test/strictmodel"
)

// Adapter has the properties of a model's client that the suite needs.
type Adapter struct {
	// API is what the client speaks.
	API llm.API
	// Opaque are parts of an answer that stet cannot read, and that are sent back unchanged. Raw has their wire format. It may be
	// empty.
	Opaque []llm.Part
	// Resent says that a part of kind Thinking is in the next request, with the Raw that the client returned.
	Resent bool
	// IDs matches the ids of calls that the API accepts.
	IDs *regexp.Regexp
	// Marks says that the cache is written only if the request has cache markers.
	Marks bool
}

// Run runs the suite.
func Run(t *testing.T, a Adapter) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Adapter)
	}{
		{"streamed and whole are the same", sameAnswer}, // CTX-11
		{"any answer", randomAnswers},
		{"a conversation", conversation},                   // CTX-11
		{"opaque parts go back as they came", opaque},      // CTX-11
		{"names and identities made up", invalidNames},     // CTX-3
		{"usage is counted once", usage},                   // CTX-1
		{"what the server says of the request", onTheWire}, // CTX-11
		{"an endpoint that does not stream", notStreamed},  // CTX-11
		{"tries again", triesAgain},                        // CTX-11
		{"does not try again", givesUp},                    // CTX-11
		{"never after output", neverAfterOutput},           // CTX-11
		{"Retry-After", retryAfter},                        // CTX-11
		{"cancelled at once", cancelled},                   // CTX-11
		{"silence", silence},                               // CTX-11
		{"errors", failures},                               // CTX-11
		{"no key in errors and logs", noKey},               // CTX-11
		{"broken streams", brokenStreams},                  // CTX-11
		{"connections are used again", connections},        // CTX-11
		{"a redirect is not followed", redirect},           // CTX-11
		{"many at once", concurrent},                       // CTX-11
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, a) })
	}
}

const key = "sk-test-0123456789abcdef"

// rig is a client with the model that it uses.
type rig struct {
	model  llm.Model
	server *llmtest.Server
	dials  atomic.Int32 // number of connections made
	t      *testing.T
}

// play runs f with a rig, with a fake clock. handler gives the answers; nil: the script does. change, if not nil, changes the
// client's configuration.
func (a Adapter) play(t *testing.T, handler func(*llm.Request) (llm.Response, error), change func(*endpoint.Config), f func(*testing.T, *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var network llmtest.Memory
		server, err := strictmodel.Start(llmtest.Config{Script: script, Handler: handler, Listener: &network, Reasoning: true})
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{server: server, t: t}
		transport := &http.Transport{DialContext: func(ctx context.Context, to, addr string) (net.Conn, error) {
			r.dials.Add(1)
			return network.DialContext(ctx, to, addr)
		}}
		cfg := endpoint.Config{
			BaseURL: "http://model.test", Key: key, HTTP: &http.Client{Transport: transport}, Model: "scripted",
		}
		if change != nil {
			change(&cfg)
		}
		r.model = endpoint.Client{API: a.API, Config: cfg}
		defer func() {
			transport.CloseIdleConnections()
			if err := server.Close(); err != nil {
				t.Error(err)
			}
		}()
		f(t, r)
	})
}

// script is a conversation with all kinds of parts.
var script = llmtest.Script{Turns: []llmtest.Turn{
	{
		Thinking: "The row must be looked up first: both of them, 日本 🌱.", Text: "I look them up. \"Quoted\" \\ and\nbroken.",
		Do: []llmtest.Action{
			llmtest.Call("lookup", `{"row":"row 41","note":"ümlaut 日本 🌱 \"q\""}`), llmtest.Call("lookup", `{"row":"row 42"}`),
		},
	},
	llmtest.Say("Row 41 has one plant: 日本 🌱. Row 42 has none."),
}}

// request returns a request for the first turn of the script.
func request() *llm.Request {
	req := &llm.Request{MaxTokens: 1000, Messages: []llm.Message{
		{Role: llm.System, Parts: []llm.Part{{Text: "You tend a garden."}}},
		{Role: llm.User, Parts: []llm.Part{{Text: "How many plants are in rows 41 and 42?"}}},
	}}
	req.AddTool("lookup", "look a row up", []byte(`{"type":"object","properties":{"row":{"type":"string"},"note":{"type":"string"}},"required":["row"]}`))
	return req
}

// stream sends req, and returns the answer and the events.
func (r *rig) stream(req *llm.Request) (*llm.Response, []llm.Event, error) {
	var events []llm.Event
	res, err := r.model.Stream(r.t.Context(), req, func(e llm.Event) { events = append(events, e) })
	return res, events, err
}

// asked returns the number of requests that the server received.
func (r *rig) asked() int { return len(r.server.Requests()) }

// since returns the time since start by the fake clock.
func since(start time.Time) time.Duration { return time.Since(start) }

// says returns a handler that answers with text.
func says(text string) func(*llm.Request) (llm.Response, error) {
	return func(*llm.Request) (llm.Response, error) { return said(llm.Part{Text: text}), nil }
}

func said(parts ...llm.Part) llm.Response {
	return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: parts}, Usage: llm.Usage{Input: 10, Output: 5}}
}
