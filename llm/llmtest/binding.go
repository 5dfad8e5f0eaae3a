package llmtest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/stet-dev/stet/llm"
)

// BindingBeta is the beta header's value that allows a request to say what happens to
// blocks of thinking that are bound to another conversation.
const BindingBeta = "thinking-binding-controls-2026-08-01"

// A signature of a strict server says what stood before the block: the system text, the
// set of tools and the messages, without cache markers and without thinking; and which
// block of thinking came before it. So a change before the block is found, and a block
// that is missing between two others; but not that the first blocks are missing, or the
// last ones, or all.

// prefix is what stands before a place in a request. The zero prefix is of nothing.
type prefix struct {
	sum  [sha256.Size]byte // of everything but thinking
	last string            // the signature of the block of thinking before; "": there is none
	role string            // of the message at this place
}

// add takes in a value that stands at this place. The order of keys does not count.
func (p *prefix) add(v any) {
	text, err := json.Marshal(v)
	if err != nil { // a call that is made wrong on purpose
		text = fmt.Append(nil, v)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var plain any
	if d.Decode(&plain) == nil {
		if sorted, err := json.Marshal(plain); err == nil {
			text = sorted
		}
	}
	p.sum = sha256.Sum256(append(p.sum[:], text...))
}

// speak begins a message. Messages of one role in a row count as one.
func (p *prefix) speak(role string) {
	if p.role != role {
		p.role = role
		p.add(role)
	}
}

// sign is the signature of a block of thinking at this place. before is the signature
// of the one before it.
func (p *prefix) sign(before string, block object) string {
	before = before[strings.LastIndexByte(before, '.')+1:]
	text, _ := block["thinking"].(string)
	sum := sha256.Sum256(fmt.Appendf(nil, "%x %s %s", p.sum, before, text))
	return "bound." + before + "." + hex.EncodeToString(sum[:8])
}

// signed is where a block of thinking has its signature; "" for another block.
func signed(block object) string {
	switch block["type"] {
	case "thinking":
		return "signature"
	case "redacted_thinking":
		return "data"
	}
	return ""
}

// holds reports whether a block of thinking may stand at this place.
func (p *prefix) holds(block object) bool {
	signature, _ := block[signed(block)].(string)
	parts := strings.Split(signature, ".")
	if len(parts) != 3 || p.last != "" && parts[1] != p.last[strings.LastIndexByte(p.last, '.')+1:] {
		return false
	}
	return p.sign(parts[1], block) == signature
}

// bound reads a Messages request, and lists the blocks of thinking that are bound to
// something else, as messages.N.content.M. The prefix is that of the answer.
func bound(body []byte) (p prefix, wrong []string, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var req struct {
		System   any      `json:"system"`
		Tools    []object `json:"tools"`
		Messages []struct {
			Role    string `json:"role"`
			Content any    `json:"content"`
		} `json:"messages"`
	}
	if err := d.Decode(&req); err != nil {
		return p, nil, err
	}
	p.add(blocksOf(req.System))
	p.add(toolSet(req.Tools, body))
	for i, m := range req.Messages {
		p.speak(m.Role)
		for j, b := range blocksOf(m.Content) {
			block, ok := b.(object)
			switch {
			case !ok || signed(block) == "":
				p.add(b)
			case len(wrong) > 0 || !p.holds(block): // what follows a wrong block is wrong
				wrong = append(wrong, fmt.Sprintf("messages.%d.content.%d", i, j))
			default:
				p.last, _ = block[signed(block)].(string)
			}
		}
	}
	return p, wrong, nil
}

// blocksOf is content as a list of blocks, without cache markers.
func blocksOf(content any) []any {
	if text, ok := content.(string); ok {
		return []any{object{"type": "text", "text": text}}
	}
	list, _ := content.([]any)
	out := make([]any, 0, len(list))
	for _, b := range list {
		if block, ok := b.(object); ok {
			delete(block, "cache_control")
			if inner, ok := block["content"]; ok && block["type"] == "tool_result" {
				block["content"] = blocksOf(inner)
			}
		}
		out = append(out, b)
	}
	return out
}

// toolSet is the tools in an order of their own, without cache markers and without
// deferred ones that the conversation does not refer to.
func toolSet(tools []object, body []byte) []object {
	name := func(t object) string { s, _ := t["name"].(string); return s }
	tools = slices.DeleteFunc(slices.Clone(tools), func(t object) bool {
		delete(t, "cache_control")
		return t["defer_loading"] == true && !bytes.Contains(body, []byte(`"tool_name":"`+name(t)+`"`))
	})
	slices.SortStableFunc(tools, func(a, b object) int { return cmp.Compare(name(a), name(b)) })
	return tools
}

// binding is what a strict server finds in a request.
type binding struct {
	prefix  prefix
	dropped []string // blocks that the model does not get to see
}

// check looks at a request as a provider that binds thinking does. message says
// why it is refused; empty: it is not.
func check(h http.Header, body []byte) (b *binding, message string) {
	p, wrong, err := bound(body)
	if err != nil {
		return nil, err.Error()
	}
	var req struct {
		Thinking struct {
			Binding struct {
				Behavior string `json:"prefix_mismatch_behavior"`
			} `json:"block_binding"`
		} `json:"thinking"`
	}
	_ = json.Unmarshal(body, &req) // what is of another form asks for nothing
	drops := req.Thinking.Binding.Behavior == "drop_block"
	switch {
	case req.Thinking.Binding.Behavior != "" && !strings.Contains(strings.Join(h.Values("Anthropic-Beta"), ","), BindingBeta):
		return nil, "thinking.block_binding: this field needs the beta header " + BindingBeta
	case len(wrong) > 0 && !drops:
		return nil, wrong[0] + ": Invalid `signature` in `thinking` block. The block is bound to a different conversation. " +
			"Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\"."
	}
	return &binding{p, wrong}, ""
}

// transformations are what an answer says of the blocks that were dropped.
func (b *binding) transformations() []object {
	out := []object{}
	for _, path := range b.dropped {
		out = append(out, object{"type": "thinking_dropped", "reason": "prefix_binding_mismatch", "path": path})
	}
	return out
}

// blocks are the parts of an answer on the wire, where thinking is signed.
func (b *binding) blocks(parts []llm.Part) (out []object) {
	p := prefix{}
	if b != nil {
		p = b.prefix
		p.speak("assistant")
	}
	for _, part := range parts {
		block := messagesBlock(part)
		switch at := signed(block); {
		case b == nil:
		case at != "":
			block[at] = p.sign(p.last, block)
			p.last = block[at].(string)
		default:
			p.add(block)
		}
		out = append(out, block)
	}
	return out
}
