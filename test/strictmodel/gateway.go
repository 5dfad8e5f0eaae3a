package strictmodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
)

// A gateway accepts Chat Completions from its clients and sends Messages to the model's provider. It passes thinking and its
// signature to the client in "reasoning_details", a member of the model's messages. Later it converts that member back into
// blocks. So the provider's check also applies to the gateway's clients. OpenRouter documents the member on its page "Reasoning
// tokens", and provider errors on its page "Errors".

// checkGateway checks a request of Chat Completions as the provider of a gateway does.
func checkGateway(account Account, body []byte) (*binding, *refusal) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var req messagesRequest
	if err := d.Decode(&req); err != nil {
		return nil, refuse("%v", err)
	}
	b := &binding{asked: req}
	p := before(req.Model, nil, req.Tools)
	for i, m := range req.Messages {
		role, _ := m["role"].(string)
		p.beginMessage(role)
		details, _ := m[detailsKey].([]any)
		for j, v := range details {
			detail, _ := v.(object)
			block := object{"type": "thinking", "thinking": detail["text"], "signature": detail["signature"]}
			if why := b.thinking(p, block, fmt.Sprintf("messages.%d.content.%d", i, j), account != OldAccount, false); why != nil {
				return nil, why
			}
		}
		for _, key := range []string{detailsKey, "reasoning", "role"} {
			delete(m, key)
		}
		m["content"] = blocksOf(m["content"])
		p.add(m)
	}
	b.prefix = *p
	return b, nil
}

const detailsKey = "reasoning_details"

// gatewayAnswer returns the refusal in the form in which a gateway passes it on; nil for nil.
func (r *refusal) gatewayAnswer() *llmtest.Refusal {
	if r == nil {
		return nil
	}
	return &llmtest.Refusal{Status: http.StatusBadRequest, Body: []byte(encode(object{"error": object{
		"message": "Provider returned error", "code": 400, "metadata": object{"provider_name": "Anthropic", "raw": string(r.body())},
	}}))}
}

// details returns the thinking of an answer in the form in which a gateway passes it on.
func (b *binding) details(parts []llm.Part) (out []any) {
	for _, block := range b.blocks(parts) {
		if block["type"] == "thinking" {
			out = append(out, object{
				"type": "reasoning.text", "text": block["thinking"], "signature": block["signature"], "format": "anthropic-claude-v1", "index": len(out),
			})
		}
	}
	return out
}
