package strictmodel

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/llmtest"
)

// Account is the kind of account that a server simulates for the Messages API.
type Account string

const (
	// NewAccount was made on 2026-08-31 or later. Thinking that belongs to something else is refused, unless the request asks to
	// drop it.
	NewAccount Account = "new"
	// OldAccount is older. The same rule holds only for requests that say what should happen to such thinking. In other requests it
	// reaches the model.
	OldAccount Account = "old"
)

// Values of the beta header that the Messages API asks for.
const (
	BindingBeta   = "thinking-binding-controls-2026-08-01" // to say what should happen to signed thinking that belongs to something else
	ManagingBeta  = "context-management-2025-06-27"        // to let the server edit the context
	ThresholdBeta = "compact-2026-01-12"                   // to let it compact at a threshold
	DemandBeta    = "compact-2026-09-04"                   // to ask for a compaction
)

// messagesRequest holds the checked fields of a request.
type messagesRequest struct {
	Model    string   `json:"model"`
	System   any      `json:"system"`
	Tools    []object `json:"tools"`
	Messages []object `json:"messages"`
	Thinking struct {
		Type    string `json:"type"`
		Binding object `json:"block_binding"`
	} `json:"thinking"`
	Managing struct {
		Edits []object `json:"edits"`
	} `json:"context_management"`
	Compaction object `json:"compaction"`
}

// binding holds the results of a strict server's check of an accepted request.
type binding struct {
	prefix  prefix // of the answer
	changed []object
	reports bool // the answer reports what happened to blocks
	asked   messagesRequest

	cleared       int // calls whose results the server cleared
	clearedTokens int
}

// refusal says why the server refuses a request of the Messages API.
type refusal struct {
	message, code string
	status        int      // 0: 400
	unsupported   []string // what threads do not support
}

func (r *refusal) body() []byte {
	body := llm.ErrorBody{Status: cmp.Or(r.status, http.StatusBadRequest), Message: r.message}
	if r.code != "" {
		details := object{"error_code": r.code}
		if r.unsupported != nil {
			details["unsupported"] = r.unsupported
		}
		body.Details = details
	}
	return []byte(encode(anthropic.API.Error(body)))
}

// answer returns the refusal as the server sends it; nil for nil.
func (r *refusal) answer() *llmtest.Refusal {
	if r == nil {
		return nil
	}
	return &llmtest.Refusal{Status: cmp.Or(r.status, http.StatusBadRequest), Body: r.body()}
}

func refuse(format string, args ...any) *refusal {
	return &refusal{message: fmt.Sprintf(format, args...)}
}

// check checks a request of the Messages API as the provider does.
func check(account Account, h http.Header, body []byte) (*binding, *refusal) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var req messagesRequest
	if err := d.Decode(&req); err != nil {
		return nil, refuse("%v", err)
	}
	betas := strings.Join(h.Values("Anthropic-Beta"), ",")
	if why := misordered(req.Messages); why != nil {
		return nil, why
	}
	if why := req.mismanaged(betas); why != nil {
		return nil, why
	}
	return req.bound(account, betas)
}

// bound reads the messages and checks every block of thinking.
func (req *messagesRequest) bound(account Account, betas string) (*binding, *refusal) {
	behavior, set := req.Thinking.Binding["prefix_mismatch_behavior"]
	b := &binding{reports: strings.Contains(betas, BindingBeta), asked: *req}
	switch {
	case len(req.Thinking.Binding) > 0 && !b.reports:
		return nil, refuse("thinking.%s.block_binding: Extra inputs are not permitted", req.Thinking.Type)
	case set && behavior != "error" && behavior != "drop_block":
		return nil, refuse("thinking.%s.block_binding.prefix_mismatch_behavior: Input should be 'error' or 'drop_block'", req.Thinking.Type)
	}
	p := before(req.Model, req.System, req.Tools)
	enforced := account != OldAccount || set
	for i, m := range req.Messages {
		role, _ := m["role"].(string)
		for j, v := range blocksOf(m["content"]) {
			p.beginMessage(role)
			block, _ := v.(object)
			at := fmt.Sprintf("messages.%d.content.%d", i, j)
			if block["type"] == "compaction" {
				if why := p.compacted(block, at, i == 0 && j == 0, betas); why != nil {
					return nil, why
				}
				continue
			}
			if signed(block) == "" {
				p.block(block)
				continue
			}
			why := b.thinking(p, block, at, enforced, behavior == "drop_block")
			if why != nil {
				return nil, why
			}
		}
		for _, key := range []string{"clear_at", "output_config"} { // they apply to this message only
			if v, ok := m[key]; ok {
				p.add(object{key: v})
			}
		}
	}
	b.prefix = *p
	return b, nil
}

// thinking checks a block of thinking.
func (b *binding) thinking(p *prefix, block object, at string, enforced, drop bool) *refusal {
	field := signed(block)
	signature, ok := block[field].(string)
	if !ok {
		return refuse("%s.%s.%s: Field required", at, block["type"], field)
	}
	text, _ := block["thinking"].(string)
	s, ok := unseal(signature, text)
	invalid := fmt.Sprintf("%s: Invalid `%s` in `%s` block", at, field, block["type"])
	if !ok { // an invalid signature cannot be dropped
		return refuse("%s", invalid)
	}
	change := func(kind, reason string) {
		b.changed = append(b.changed, object{"type": kind, "reason": reason, "path": at})
	}
	why := ""
	if checks(p.model) {
		why = p.differs(s)
	}
	switch {
	case !reads(p.model, s.Model):
		change("thinking_dropped", "model_binding_mismatch")
	case why == "":
	case !enforced:
		change("thinking_mismatch_allowed", "prefix_binding_mismatch")
	case drop:
		change("thinking_dropped", "prefix_binding_mismatch")
		return nil // the model's next thinking does not depend on it
	default:
		setting := ""
		if !b.reports {
			setting = "That setting requires the `" + BindingBeta + "` value in the `anthropic-beta` header. "
		}
		return refuse("%s. The block is bound to a different conversation. Remove the block, or set "+
			"`thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\". %s%s", invalid, setting, why)
	}
	p.last = s.Own
	return nil
}

// fields adds the report about the request's blocks to an answer.
func (b *binding) fields(out object) {
	if b.reports {
		out["input_transformations"] = append([]object{}, b.changed...)
	}
}

// blocks returns the parts of an answer in the wire format, with signed thinking.
func (b *binding) blocks(parts []llm.Part) (out []object) {
	p := b.prefix
	p.beginMessage("assistant")
	for _, part := range parts {
		block := llmtest.MessagesBlock(part)
		switch at := signed(block); {
		case at != "":
			s := p.seal()
			text, _ := block["thinking"].(string)
			block[at] = s.signature(text)
			p.last = s.Own
		case block["type"] == "compaction":
			p.restart(block)
		default:
			p.block(block)
		}
		out = append(out, block)
	}
	return out
}
