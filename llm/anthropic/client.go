package anthropic

import (
	"context"
	"fmt"
	"net/http"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/endpoint"
)

// version is the API version, a required header.
const version = "2023-06-01"

// Client is the model behind an endpoint of the Messages API.
type Client struct {
	Endpoint endpoint.Config

	// Thinking is how many tokens the model may think before it answers. 0 turns thinking off. The tokens count towards
	// Request.MaxTokens, which must be larger. Without MaxTokens, they are added to the default. For models that
	// choose the number themselves, use Endpoint.Extra.
	Thinking int
}

var (
	_ llm.Model           = Client{}
	_ llm.ThinkingChecker = Client{}
)

// ChecksThinking implements llm.ThinkingChecker.
func (Client) ChecksThinking() bool { return true }

// Complete implements llm.Model.
func (c Client) Complete(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	return c.client().Complete(ctx, req)
}

// Stream implements llm.Model.
func (c Client) Stream(ctx context.Context, req *llm.Request, each func(llm.Event)) (*llm.Response, error) {
	return c.client().Stream(ctx, req, each)
}

func (c Client) client() endpoint.Client {
	return endpoint.Client{Config: c.Endpoint, Format: endpoint.Format{
		Name: "messages", Path: "/v1/messages",
		Encode: c.encode,
		Decode: Messages{}.DecodeResponse,
		Reader: func(emit func(llm.Event)) endpoint.Reader { return &reader{emit: emit} },
		Sign: func(h http.Header, key string) {
			h.Set("Anthropic-Version", version)
			if key != "" {
				h.Set("X-Api-Key", key)
			}
		},
	}}
}

func (c Client) encode(req *llm.Request) ([]byte, error) {
	if c.Thinking <= 0 {
		return Messages{}.Encode(req)
	}
	sent := *req
	if sent.MaxTokens <= 0 {
		sent.MaxTokens = DefaultMaxTokens + c.Thinking
	}
	if sent.MaxTokens <= c.Thinking {
		return nil, fmt.Errorf("%w: %d tokens to think leave none of %d for the answer", llm.ErrInvalid, c.Thinking, sent.MaxTokens)
	}
	body, err := Messages{}.Encode(&sent)
	if err != nil {
		return nil, err
	}
	var w rawjson.Writer
	w.Open('{')
	w.Key("thinking")
	w.Open('{')
	w.Member("type", "enabled")
	w.Key("budget_tokens")
	w.Int(c.Thinking)
	w.Close('}')
	w.Close('}')
	extra, err := w.Bytes()
	if err != nil {
		return nil, err
	}
	return rawjson.Merge(body, extra)
}
