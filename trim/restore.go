package trim

import "github.com/stet-dev/stet/llm"

// goneFrom is how many times more than its sources hold a pointer must stand for, so that its text is certainly gone. Sources may show lines
// without the numbers that the text has.
const goneFrom = 4

// Restore takes edits out of a plan for messages if their pointers name text that is certainly gone. It is gone if the named calls are missing, or if
// they hold much less than was left out.
func (p *Plan) Restore(messages []llm.Message) {
	n, next := 0, 0
	held := heldBytes{named: map[string]int{}}
	for i, e := range p.Edits {
		for ; next <= e.Message; next++ {
			held.add(&messages[next])
		}
		o := p.Omissions[i]
		if left := o.Before - o.After; len(findPointers(e.Text)) > 0 && goneFrom*held.pointedAt(e.Text) < left {
			p.Saved -= left
			continue
		}
		p.Edits[n], p.Omissions[n] = e, o
		n++
	}
	p.Edits, p.Omissions = p.Edits[:n], p.Omissions[:n]
}

// heldBytes counts the bytes of calls and results.
type heldBytes struct {
	named map[string]int // by the name that a pointer gives to the call
	all   int
}

// add counts the calls and results of a message.
func (h *heldBytes) add(m *llm.Message) {
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == llm.ToolCall || p.Kind == llm.ToolResult {
			bytes := len(p.Text) + len(p.Args)
			h.named[(&source{call: shortID(p.CallID)}).name()] += bytes
			h.all += bytes
		}
	}
}

// pointedAt returns the bytes of the calls and results that the pointers in a text name. If a pointer names a call without its id, any call may be
// meant, and all bytes count.
func (h *heldBytes) pointedAt(text string) (bytes int) {
	words, all := pointedWords(text)
	if all {
		return h.all
	}
	for _, word := range words {
		bytes += h.named[word]
	}
	return bytes
}
