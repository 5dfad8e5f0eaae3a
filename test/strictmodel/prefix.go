package strictmodel

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stet-dev/stet/llm/llmtest"
)

// prefix describes the content before a block of a request: the top-level instructions, the tools and the messages, without cache
// markers and thinking. It also has the last block of thinking. So the check detects a change before a block of thinking, and a
// block that is missing between two others. It does not detect that the first blocks are missing, or the last ones, or all.
type prefix struct {
	model    string
	system   string            // a hash of the top-level instructions
	head     [sha256.Size]byte // of instructions and tools
	sum      [sha256.Size]byte // of everything except thinking
	last     string            // the Own of the previous block of thinking; "": none
	role     string            // of the message that is open
	deferred map[string]object // tools that no block has referred to yet
}

// before returns the prefix of the first message.
func before(model string, system any, tools []object) *prefix {
	p := &prefix{model: model, deferred: map[string]object{}}
	p.add(slices.DeleteFunc(blocksOf(system), func(b any) bool {
		block, _ := b.(object)
		text, _ := block["text"].(string)
		return llmtest.Accounts(text)
	}))
	p.system = hex.EncodeToString(p.sum[:8])
	name := func(t object) string { s, _ := t["name"].(string); return s }
	var set []object
	for _, t := range tools {
		delete(t, "cache_control")
		if t["defer_loading"] == true {
			p.deferred[name(t)] = t
			continue
		}
		set = append(set, t)
	}
	slices.SortStableFunc(set, func(a, b object) int { return cmp.Compare(name(a), name(b)) })
	p.add(set)
	p.head = p.sum
	return p
}

// add adds a value. The order of keys does not matter. A key with a null value counts as missing.
func (p *prefix) add(v any) {
	text, err := json.Marshal(v)
	if err != nil { // a call that a test made invalid on purpose
		text = fmt.Append(nil, v)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var plain any
	if d.Decode(&plain) == nil {
		if o, ok := plain.(object); ok {
			maps.DeleteFunc(o, func(_ string, v any) bool { return v == nil })
		}
		if sorted, err := json.Marshal(plain); err == nil {
			text = sorted
		}
	}
	p.sum = sha256.Sum256(append(p.sum[:], text...))
}

// block adds a block of a message. A deferred tool counts from where it is first named.
func (p *prefix) block(b object) {
	p.add(b)
	if len(p.deferred) == 0 {
		return
	}
	text, err := json.Marshal(b)
	if err != nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(p.deferred)) {
		if b["type"] == "tool_use" && b["name"] == name || bytes.Contains(text, []byte(`"tool_name":"`+name+`"`)) {
			p.add(p.deferred[name])
			delete(p.deferred, name)
		}
	}
}

// beginMessage begins a message. Consecutive messages of one role count as one.
func (p *prefix) beginMessage(role string) {
	if p.role != role {
		p.role = role
		p.add(role)
	}
}

// seal returns the seal for a block of thinking here.
func (p *prefix) seal() seal {
	s := seal{Model: p.model, Before: p.last}
	if records(p.model) {
		s.System, s.Prefix = p.system, hex.EncodeToString(p.sum[:8])
	}
	return s
}

// differs returns, in the provider's words, why a block with this seal is invalid here; "": it is valid.
func (p *prefix) differs(s seal) string {
	switch {
	case s.Prefix == "" || s.Prefix == hex.EncodeToString(p.sum[:8]) && (p.last == "" || s.Before == p.last):
		return ""
	case s.System != p.system:
		return "The `system` prompt differs from the one this block was created with."
	}
	return "Content before this block differs from when it was created."
}

// restart begins a new prefix with a compaction that a server made at a threshold. Everything before it is ignored.
func (p *prefix) restart(compaction object) {
	p.sum = p.head
	p.add(compaction)
}

// replace puts a compaction that was made on demand in place of the messages that it covers.
func (p *prefix) replace(s seal) {
	p.last, p.role = s.Before, s.Role
	sum, err := hex.DecodeString(s.Prefix)
	if err != nil || len(sum) != len(p.sum) {
		panic("the seal of a compaction has no prefix: " + s.Prefix)
	}
	head := p.head
	copy(p.sum[:], sum)
	if hex.EncodeToString(head[:8]) != s.System {
		p.add(hex.EncodeToString(head[:])) // the instructions or tools changed since then
	}
}

// compaction returns the seal for a compaction of everything so far.
func (p *prefix) compaction() seal {
	return seal{Model: p.model, Before: p.last, System: hex.EncodeToString(p.head[:8]), Prefix: hex.EncodeToString(p.sum[:]), Role: p.role}
}

// signed returns the name of the field with a thinking block's signature; "" for other blocks.
func signed(block object) string {
	switch block["type"] {
	case "thinking":
		return "signature"
	case "redacted_thinking":
		return "data"
	}
	return ""
}

// blocksOf returns content as a list of blocks, without cache markers.
func blocksOf(content any) []any {
	if text, ok := content.(string); ok {
		return []any{object{"type": "text", "text": text}}
	}
	list, _ := content.([]any)
	out := make([]any, 0, len(list))
	for _, b := range list {
		if block, ok := b.(object); ok {
			delete(block, "cache_control")
			if inner, ok := block["content"]; ok && strings.HasSuffix(fmt.Sprint(block["type"]), "tool_result") {
				block["content"] = blocksOf(inner)
			}
		}
		out = append(out, b)
	}
	return out
}
