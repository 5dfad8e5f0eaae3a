package openai

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/endpoint"
)

// ChatClient is the model behind an endpoint of Chat Completions: OpenAI's own or a compatible one.
type ChatClient struct {
	Endpoint endpoint.Config

	// Effort is how much the model should reason, in the provider's word; "" leaves it out.
	Effort string

	// Limit is the member for Request.MaxTokens. "" means max_completion_tokens for the provider itself, whose newer models refuse
	// max_tokens, and max_tokens for compatible endpoints, because some of them know only that.
	Limit string
}

// ResponsesClient is the model behind an endpoint of the Responses API. Requests ask the provider to store nothing. If Effort is
// set, reasoning is received encrypted and sent back encrypted.
type ResponsesClient struct {
	Endpoint endpoint.Config

	// Effort is how much the model should reason, in the provider's word; "" leaves it out.
	Effort string
}

var (
	_ llm.Model = ChatClient{}
	_ llm.Model = ResponsesClient{}
)

// Complete implements llm.Model.
func (c ChatClient) Complete(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	return c.client().Complete(ctx, req)
}

// Stream implements llm.Model.
func (c ChatClient) Stream(ctx context.Context, req *llm.Request, each func(llm.Event)) (*llm.Response, error) {
	return c.client().Stream(ctx, req, each)
}

// Complete implements llm.Model.
func (c ResponsesClient) Complete(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	return c.client().Complete(ctx, req)
}

// Stream implements llm.Model.
func (c ResponsesClient) Stream(ctx context.Context, req *llm.Request, each func(llm.Event)) (*llm.Response, error) {
	return c.client().Stream(ctx, req, each)
}

func (c ChatClient) client() endpoint.Client {
	return endpoint.Client{Config: c.Endpoint, Format: endpoint.Format{
		Name: "chat", Path: "/v1/chat/completions", Based: true,
		Encode: c.encode,
		Decode: Chat{}.DecodeResponse,
		Reader: func(emit func(llm.Event)) endpoint.Reader { return &chatReader{emit: emit} },
		Sign:   sign,
	}}
}

func (c ResponsesClient) client() endpoint.Client {
	return endpoint.Client{Config: c.Endpoint, Format: endpoint.Format{
		Name: "responses", Path: "/v1/responses", Based: true,
		Encode: c.encode,
		Decode: Responses{}.DecodeResponse,
		Reader: func(emit func(llm.Event)) endpoint.Reader { return &responsesReader{emit: emit} },
		Sign:   sign,
	}}
}

func sign(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

// encode writes a request and adds the members that only the client knows.
func (c ChatClient) encode(req *llm.Request) ([]byte, error) {
	sent := *req
	sent.MaxTokens = 0
	body, err := Chat{}.Encode(&sent)
	if err != nil {
		return nil, err
	}
	var w rawjson.Writer
	w.Open('{')
	if req.MaxTokens > 0 {
		w.Key(c.limit())
		w.Int(req.MaxTokens)
	}
	if c.Effort != "" {
		w.Member("reasoning_effort", c.Effort)
	}
	w.Close('}')
	return merged(body, &w)
}

func (c ChatClient) limit() string {
	if c.Limit != "" {
		return c.Limit
	}
	u, err := url.Parse(c.Endpoint.BaseURL)
	if err == nil && (u.Hostname() == "api.openai.com" || strings.HasSuffix(u.Hostname(), ".openai.azure.com")) {
		return "max_completion_tokens"
	}
	return "max_tokens"
}

func (c ResponsesClient) encode(req *llm.Request) ([]byte, error) {
	body, err := Responses{}.Encode(req)
	if err != nil || c.Effort == "" {
		return body, err
	}
	var w rawjson.Writer
	w.Open('{')
	w.Key("reasoning")
	w.Open('{')
	w.Member("effort", c.Effort)
	w.Member("summary", "auto")
	w.Close('}')
	w.Key("include")
	w.Raw(`["reasoning.encrypted_content"]`, "")
	w.Close('}')
	return merged(body, &w)
}

func merged(body []byte, w *rawjson.Writer) ([]byte, error) {
	extra, err := w.Bytes()
	if err != nil {
		return nil, err
	}
	return rawjson.Merge(body, extra)
}
