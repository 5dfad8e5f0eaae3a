package history

import (
	"slices"
	"strings"

	"github.com/stet-dev/stet/llm"
)

// goneFrom is how many times more than its sources hold a pointer must stand for, so that its text is certainly gone. Sources may show lines
// without the numbers that the text has.
const goneFrom = 4

// Restore takes out the edits of a plan for messages whose pointers name what is certainly gone: the calls that they name are not there, or hold much
// less than was left out.
func (p *Plan) Restore(messages []llm.Message) {
	n, next := 0, 0
	held := map[string]int{} // bytes that the calls and results hold that a pointer may name, by that name; " ": all of them
	for i, e := range p.Edits {
		for ; next <= e.Message; next++ {
			hold(held, &messages[next])
		}
		o := p.Omissions[i]
		if left := o.Before - o.After; len(findPointers(e.Text)) > 0 && goneFrom*heldFor(e.Text, held) < left {
			p.Saved -= left
			continue
		}
		p.Edits[n], p.Omissions[n] = e, o
		n++
	}
	p.Edits, p.Omissions = p.Edits[:n], p.Omissions[:n]
}

// hold adds the bytes of a message's calls and results to held.
func hold(held map[string]int, m *llm.Message) {
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == llm.ToolCall || p.Kind == llm.ToolResult {
			bytes := len(p.Text) + len(p.Args)
			held[(&source{call: shortID(p.CallID)}).name()] += bytes
			held[" "] += bytes
		}
	}
}

// heldFor returns how many bytes the calls and results hold that the pointers in a text name. A pointer may name a call without its id: then all of
// them may be meant.
func heldFor(text string, held map[string]int) (bytes int) {
	text = strings.Join(pointerForm.FindAllString(text, -1), " ")
	if strings.Contains(text, " an earlier ") {
		return held[" "]
	}
	words := strings.Fields(text)
	for i, word := range words {
		words[i] = strings.TrimRight(word, ",.]")
	}
	slices.Sort(words)
	for _, word := range slices.Compact(words) {
		bytes += held[word]
	}
	return bytes
}
