package strictmodel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
)

// The provider can change a conversation itself: it clears results and thinking ("Context editing"), or replaces old
// messages by a summary ("Compaction at a token threshold", "Compaction on demand"). The check of thinking ignores these changes,
// because it compares what the client sends.

const clearsTools = "clear_tool_uses_20250919"

// mismanaged returns why the provider refuses the requested changes; nil: it accepts them.
func (req *messagesRequest) mismanaged(betas string) *refusal {
	threshold := strings.Contains(betas, ThresholdBeta)
	for i, e := range req.Managing.Edits {
		switch {
		case e["type"] == "compact_20260112" && !threshold:
			return refuse("context_management.edits.%d: Input tag 'compact_20260112' found using 'type' does not match any of the expected tags: 'clear_thinking_20251015', '%s'", i, clearsTools)
		case !threshold && !strings.Contains(betas, ManagingBeta):
			return refuse("context_management: Extra inputs are not permitted")
		case e["type"] == "clear_thinking_20251015" && i > 0:
			return refuse("context_management: `clear_thinking_20251015` must be the first strategy in `context_management.edits` when provided")
		}
	}
	switch {
	case req.Compaction == nil:
	case !strings.Contains(betas, DemandBeta):
		return refuse("compaction: Extra inputs are not permitted")
	case len(req.Managing.Edits) > 0:
		return refuse("compaction: cannot be combined with `context_management`")
	case len(req.Messages) == 0:
		return &refusal{message: "compaction: there is nothing to summarize", code: "compaction_nothing_to_summarize"}
	}
	for i, m := range req.Messages {
		for j, b := range blocksOf(m["content"]) {
			block, _ := b.(object)
			if block["type"] != "compaction" || block["signature"] != nil {
				continue
			}
			compacts := false
			for _, e := range req.Managing.Edits {
				compacts = compacts || e["type"] == "compact_20260112"
			}
			if !compacts {
				return refuse("messages.%d.content.%d: `compaction` blocks require a `compact_20260112` strategy in `context_management.edits`.", i, j)
			}
		}
	}
	return nil
}

// compacted adds a compaction block.
func (p *prefix) compacted(block object, at string, first bool, betas string) *refusal {
	signature, ok := block["signature"].(string)
	if !ok { // a compaction at a threshold
		p.restart(block)
		return nil
	}
	text, _ := block["content"].(string)
	s, ok := unseal(signature, text)
	switch {
	case !strings.Contains(betas, DemandBeta):
		return refuse("%s: `signature` requires anthropic-beta: %s", at, DemandBeta)
	case !first:
		return &refusal{message: at + ": a signed `compaction` block must be the first block of the first message", code: "compaction_block_misplaced"}
	case !ok && s.Own != "":
		return &refusal{message: at + ": the `content` of the `compaction` block is not what was signed", code: "compaction_content_mismatch"}
	case !ok:
		return &refusal{message: at + ": Invalid `signature` in `compaction` block", code: "compaction_signature_invalid"}
	}
	p.replace(s)
	return nil
}

// summary returns the answer to a request for a compaction; nil: the request asks for none.
func (b *binding) summary() *llm.Response {
	if b.asked.Compaction == nil {
		return nil
	}
	text := fmt.Sprintf("What was said in %d messages.", len(b.asked.Messages))
	s := b.prefix.compaction()
	block := object{"type": "compaction", "content": text, "signature": s.signature(text)}
	return &llm.Response{StopReason: "compaction", Message: llm.Message{
		Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.Opaque, Raw: encode(block)}},
	}}
}

// clearedText is the text that the model sees in place of a cleared result.
const clearedText = "[Old tool result content cleared]"

// shown returns the request as the model sees it: without the results that the server clears.
func (b *binding) shown(req *llm.Request) *llm.Request {
	var calls []string // their ids, in order
	for i := range req.Messages {
		for _, p := range req.Messages[i].Parts {
			if p.Kind == llm.ToolCall {
				calls = append(calls, p.CallID)
			}
		}
	}
	whole := llmtest.PromptTokens(req)
	for _, e := range b.asked.Managing.Edits {
		if e["type"] != clearsTools {
			continue
		}
		kind, value := amount(e["trigger"], "input_tokens", 100_000)
		_, keep := amount(e["keep"], "tool_uses", 3)
		if size := map[string]int{"input_tokens": whole, "tool_uses": len(calls)}[kind]; size > value && len(calls) > keep {
			b.cleared = len(calls) - keep
		}
	}
	if b.cleared == 0 {
		return req
	}
	out := *req
	out.Messages = slices.Clone(req.Messages)
	for i := range out.Messages {
		m := &out.Messages[i]
		m.Parts = slices.Clone(m.Parts)
		for j := range m.Parts {
			if p := &m.Parts[j]; p.Kind == llm.ToolResult && slices.Contains(calls[:b.cleared], p.CallID) {
				p.Text = clearedText
			}
		}
	}
	b.clearedTokens = whole - llmtest.PromptTokens(&out)
	return &out
}

// managed adds the applied edits to the end of an answer.
func (b *binding) managed(out object) {
	if len(b.asked.Managing.Edits) == 0 {
		return
	}
	applied := []object{}
	if b.cleared > 0 {
		applied = append(applied, object{"type": clearsTools, "cleared_tool_uses": b.cleared, "cleared_input_tokens": b.clearedTokens})
	}
	out["context_management"] = object{"applied_edits": applied}
}

// amount reads the kind and the number of an amount in an edit.
func amount(v any, kind string, value int) (string, int) {
	o, ok := v.(object)
	if !ok {
		return kind, value
	}
	if k, ok := o["type"].(string); ok {
		kind = k
	}
	_, _ = fmt.Sscan(fmt.Sprint(o["value"]), &value) // for other values the default stays
	return kind, value
}
