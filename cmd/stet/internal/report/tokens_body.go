package report

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/gemini"
	"github.com/stet-dev/stet/llm/openai"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/llm/tokens/exact"
)

// bodyMarks has the members that distinguish a request body from other JSON, and show its API.
type bodyMarks struct {
	Model    *string           `json:"model"`
	Input    json.RawMessage   `json:"input"`
	System   json.RawMessage   `json:"system"`
	Messages []json.RawMessage `json:"messages"`
	Contents []json.RawMessage `json:"contents"` // its model is in the path
	Tools    []struct {
		Schema   json.RawMessage `json:"input_schema"`
		Function json.RawMessage `json:"function"`
	} `json:"tools"`
}

// CountBody counts the body of a request; false if b is not one.
func CountBody(name string, b []byte, model string) (*Tokens, bool, error) {
	var marks bodyMarks
	if err := json.Unmarshal(b, &marks); err != nil || marks.Contents == nil && (marks.Model == nil || marks.Messages == nil && marks.Input == nil) {
		return nil, false, nil
	}
	api, codec := marks.codec()
	req, err := codec.Decode(b)
	if err != nil {
		return nil, false, fmt.Errorf("%s: a request to the %s API: %w", name, api, err)
	}
	if model == "" && marks.Model != nil {
		model = *marks.Model
	}
	counter, method := counterFor(model)
	req.Messages = withoutBlocks(req.Messages)
	text, others := tokens.CountRequest(req, counter), countBlocks(b, counter)
	t := &Tokens{
		File: name, Kind: "request", Model: model, Method: method, Estimated: true, API: api, Bytes: len(b), Tokens: text + others.Tokens,
		Tools: text - tokens.CountMessages(req.Messages, counter), Shares: shares(req.Messages, counter),
	}
	if others.Number > 0 {
		t.Blocks = &others
	}
	return t, true, nil
}

// codec finds the API: by members that only one API has, then by the content of the messages, then by the maker of the model.
func (b *bodyMarks) codec() (string, llm.Codec) {
	switch {
	case b.Contents != nil:
		return "gemini", gemini.GenerateContent{}
	case b.Messages == nil:
		return "responses", openai.Responses{}
	case b.isMessages():
		return "messages", anthropic.Messages{}
	}
	return "chat", openai.Chat{}
}

func (b *bodyMarks) isMessages() bool {
	if b.System != nil {
		return true
	}
	for _, t := range b.Tools {
		if t.Schema != nil || t.Function != nil {
			return t.Schema != nil
		}
	}
	for _, raw := range b.Messages {
		var m struct {
			Role    string          `json:"role"`
			Calls   json.RawMessage `json:"tool_calls"`
			Content json.RawMessage `json:"content"`
		}
		if json.Unmarshal(raw, &m) != nil {
			continue
		}
		if m.Calls != nil || m.Role != "user" && m.Role != "assistant" {
			return false
		}
		var blocks []struct{ Type string }
		if json.Unmarshal(m.Content, &blocks) != nil {
			continue
		}
		for _, block := range blocks {
			if block.Type == "tool_use" || block.Type == "tool_result" {
				return true
			}
		}
	}
	m, _ := prices.Lookup(*b.Model)
	return m.Provider == "anthropic"
}

func CountText(name string, b []byte, model string) (*Tokens, error) {
	if bytes.IndexByte(b, 0) >= 0 {
		return nil, fmt.Errorf("%s: not a text: it holds zero bytes", name)
	}
	counter, method := counterFor(model)
	return &Tokens{File: name, Kind: "text", Model: model, Method: method, Estimated: method == "estimate", Bytes: len(b), Tokens: counter.Count(string(b))}, nil
}

// counterFor returns the best counter for a model and its method. Without a model it is the exact one of o200k_base.
func counterFor(model string) (tokens.Counter, string) {
	vocabulary := prices.VocabularyO200k
	if model != "" {
		m, _ := prices.Lookup(model)
		if vocabulary = m.Vocabulary; m.Family != "" { // the vocabulary of another model is a guess
			return tokens.EstimateFor(model), "estimate"
		}
	}
	if c, err := exact.Counter(vocabulary); err == nil {
		return c, vocabulary
	}
	return tokens.EstimateFor(model), "estimate"
}
