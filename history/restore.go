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
	n := 0
	for i, e := range p.Edits {
		o := p.Omissions[i]
		if left := o.Before - o.After; len(findPointers(e.Text)) > 0 && goneFrom*heldFor(e.Text, messages[:e.Message+1]) < left {
			p.Saved -= left
			continue
		}
		p.Edits[n], p.Omissions[n] = e, o
		n++
	}
	p.Edits, p.Omissions = p.Edits[:n], p.Omissions[:n]
}

// heldFor returns how many bytes the calls and results hold that the pointers in a text name. A pointer may name a call without its id: then all of
// them may be meant.
func heldFor(text string, messages []llm.Message) (held int) {
	text = strings.Join(pointerForm.FindAllString(text, -1), " ")
	all := strings.Contains(text, " an earlier ")
	words := strings.Fields(text)
	for i, word := range words {
		words[i] = strings.TrimRight(word, ",.]")
	}
	for i := range messages {
		for j := range messages[i].Parts {
			p := &messages[i].Parts[j]
			if p.Kind != llm.ToolCall && p.Kind != llm.ToolResult {
				continue
			}
			if all || slices.Contains(words, (&source{call: shortID(p.CallID)}).name()) {
				held += len(p.Text) + len(p.Args)
			}
		}
	}
	return held
}
