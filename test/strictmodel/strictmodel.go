// Package strictmodel has the rules of the real providers for the scripted model of llmtest. What a provider refuses is refused
// in its words:
//   - Messages: blocks in a wrong order (order.go), thinking that belongs to another conversation (prefix.go, binding.go,
//     models.go), invalid requests for the server's own edits (compaction.go), and message threads (thread.go)
//   - Chat Completions through a gateway to such a provider (gateway.go)
//   - generateContent: contents in a wrong order, and calls without their signatures (gemini.go)
//
// A signature contains all data for the check (seal.go), so the servers of one test accept each other's signatures.
package strictmodel

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/gemini"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/llm/openai"
)

// Rules are the rules of the providers. The zero value is ready to use, by one server. A model's name decides what is checked; a name that
// is not known counts as one of the newest models.
type Rules struct {
	// Account is the kind of account for the Messages API; "" is NewAccount.
	Account Account
	// Gateway makes Chat Completions behave like a gateway to a provider of the Messages API that binds thinking (gateway.go).
	Gateway bool
	// Now is the clock for message threads; nil is time.Now.
	Now func() time.Time

	threads threads
}

// Start starts a scripted model with the rules of the providers, unless cfg has others.
func Start(cfg llmtest.Config) (*llmtest.Server, error) {
	if cfg.Rules == nil {
		cfg.Rules = &Rules{}
	}
	return llmtest.Start(cfg)
}

// New starts one for a script. It panics if it cannot listen.
func New(script llmtest.Script) *llmtest.Server {
	s, err := Start(llmtest.Config{Script: script})
	if err != nil {
		panic(err)
	}
	return s
}

// Enter implements llmtest.Rules.
func (r *Rules) Enter(wire string, req *http.Request, body []byte) (llmtest.Exchange, *llmtest.Refusal) {
	model, method, pathed := gemini.Address(req.URL.Path)
	switch {
	case wire == anthropic.API.Name:
		x := &messages{Free: body, rules: r, header: req.Header}
		if req.URL.Path != anthropic.API.Path {
			return x, nil // a count of tokens
		}
		var why *refusal
		if x.thread, why = r.threads.enter(r.now(), req.Header, body); why != nil {
			return nil, why.answer()
		}
		x.Free = x.thread.whole(body)
		return x, nil
	case wire == openai.ChatAPI.Name && r.Gateway:
		return &gateway{Free: body, account: r.Account}, nil
	case pathed:
		return pathedRequest{body, model, method}, nil
	}
	return nil, nil
}

// messages is a request of the Messages API.
type messages struct {
	llmtest.Free
	rules  *Rules
	header http.Header
	thread *threadTurn
	bound  *binding
}

// Check implements llmtest.Exchange.
func (x *messages) Check(req *llm.Request) (*llm.Request, *llm.Response, *llmtest.Refusal) {
	var why *refusal
	if x.bound, why = check(x.rules.Account, x.header, x.Free); why != nil {
		return nil, nil, why.answer()
	}
	return x.bound.shown(req), x.bound.summary(), nil
}

// Keep implements llmtest.Exchange.
func (x *messages) Keep(answer *llm.Response, whole bool) {
	x.thread.keep(x.rules.now(), answer, x.Blocks(answer.Message.Parts), whole)
}

// Begin implements llmtest.Exchange, and so do Blocks, End and Leave.
func (x *messages) Begin(out map[string]any, _ []llm.Part) { x.bound.fields(out) }

func (x *messages) Blocks(parts []llm.Part) []map[string]any { return x.bound.blocks(parts) }
func (x *messages) End(out map[string]any)                   { x.bound.managed(out) }
func (x *messages) Leave()                                   { x.thread.leave() }

// gateway is a request of Chat Completions to a gateway.
type gateway struct {
	llmtest.Free
	account Account
	bound   *binding
}

// Check implements llmtest.Exchange.
func (x *gateway) Check(req *llm.Request) (*llm.Request, *llm.Response, *llmtest.Refusal) {
	var why *refusal
	x.bound, why = checkGateway(x.account, x.Free)
	return req, nil, why.gatewayAnswer()
}

// Begin implements llmtest.Exchange.
func (x *gateway) Begin(out map[string]any, parts []llm.Part) {
	if details := x.bound.details(parts); details != nil {
		out[detailsKey] = details
	}
}

// pathedRequest is a request of an API whose path names the model.
type pathedRequest struct {
	llmtest.Free
	model  string
	method gemini.Method
}

// Check implements llmtest.Exchange.
func (x pathedRequest) Check(req *llm.Request) (*llm.Request, *llm.Response, *llmtest.Refusal) {
	if why := geminiRefusal(x.model, x.method, x.Free); why != "" {
		body := gemini.API.Error(llm.ErrorBody{Status: http.StatusBadRequest, Message: why})
		return nil, nil, &llmtest.Refusal{Status: http.StatusBadRequest, Body: []byte(encode(body))}
	}
	return req, nil, nil
}

type object = map[string]any

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // the values are all made in this package
	}
	return string(b)
}
