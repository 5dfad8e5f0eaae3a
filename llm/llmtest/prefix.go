package llmtest

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
)

// prefix is what stands before a place in a request: the top-level instructions, the set
// of tools and the messages, without cache markers and without thinking; and which block
// of thinking came last. So a change before a block of thinking is found, and a block
// that is missing between two others; but not that the first blocks are missing, or the
// last ones, or all.
type prefix struct {
	model    string
	system   string            // a hash of the top-level instructions
	head     [sha256.Size]byte // of instructions and tools
	sum      [sha256.Size]byte // of everything but thinking
	last     string            // the Own of the block of thinking before; "": there is none
	role     string            // of the message at this place
	deferred map[string]object // tools that nothing has referred to yet
}

// before is the prefix of the first message.
func before(model string, system any, tools []object) *prefix {
	p := &prefix{model: model, deferred: map[string]object{}}
	p.add(blocksOf(system))
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

// add takes in a value that stands at this place. The order of keys does not count, and
// a key without a value counts as none.
func (p *prefix) add(v any) {
	text, err := json.Marshal(v)
	if err != nil { // a call that is made wrong on purpose
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

// block takes in a block of a message. A deferred tool counts from the place where it is
// named first.
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

// speak begins a message. Messages of one role in a row count as one.
func (p *prefix) speak(role string) {
	if p.role != role {
		p.role = role
		p.add(role)
	}
}

// seal is the seal of a block of thinking at this place.
func (p *prefix) seal() seal {
	s := seal{Model: p.model, Before: p.last}
	if records(p.model) {
		s.System, s.Prefix = p.system, hex.EncodeToString(p.sum[:8])
	}
	return s
}

// differs says in the provider's words why a block that was sealed so may not stand at
// this place; "": it may.
func (p *prefix) differs(s seal) string {
	switch {
	case s.Prefix == "" || s.Prefix == hex.EncodeToString(p.sum[:8]) && (p.last == "" || s.Before == p.last):
		return ""
	case s.System != p.system:
		return "The `system` prompt differs from the one this block was created with."
	}
	return "Content before this block differs from when it was created."
}

// restart lets the prefix begin with a compaction that a server made at a threshold: what
// stands before it does not count.
func (p *prefix) restart(compaction object) {
	p.sum = p.head
	p.add(compaction)
}

// replace puts a compaction that was made on demand in place of the messages that it
// replaces.
func (p *prefix) replace(s seal) {
	p.last, p.role = s.Before, s.Role
	sum, err := hex.DecodeString(s.Prefix)
	if err != nil || len(sum) != len(p.sum) {
		panic("the seal of a compaction has no prefix: " + s.Prefix)
	}
	head := p.head
	copy(p.sum[:], sum)
	if hex.EncodeToString(head[:8]) != s.System {
		p.add(hex.EncodeToString(head[:])) // the instructions or tools are not those of then
	}
}

// compaction is the seal of a compaction of all that stands before this place.
func (p *prefix) compaction() seal {
	return seal{Model: p.model, Before: p.last, System: hex.EncodeToString(p.head[:8]), Prefix: hex.EncodeToString(p.sum[:]), Role: p.role}
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
			if inner, ok := block["content"]; ok && strings.HasSuffix(fmt.Sprint(block["type"]), "tool_result") {
				block["content"] = blocksOf(inner)
			}
		}
		out = append(out, b)
	}
	return out
}
