package check

import (
	"slices"
	"strings"

	"github.com/stet-dev/stet/llm"
)

// An agent that needs a text which was left out asks for it again: it recalls the part.
// In a recorded session it could not, so a recall is found by its answer: the answer
// repeats a line, or edits a text, that the recorded request showed and the smaller
// one does not.

// minQuote is how many bytes a line has at least whose repetition counts. Shorter
// ones are in many texts.
const minQuote = 24

// Recalls returns the parts that the answer to the request shown last would have
// recalled, each once. A line that was in several parts is recalled of the newest.
// From then on, the lines of these parts count as shown.
func (v *View) Recalls(i int) (out []int) {
	need := func(in []int32) {
		for _, part := range slices.Backward(in) {
			if v.isReplaced(part) {
				out = append(out, int(part))
				return
			}
		}
	}
	q := &v.x.rec.Requests[i]
	for part := v.x.rec.End(q); part < v.x.rec.First[q.To+1]; part++ {
		if k := v.x.rec.Parts[part].Kind; k != llm.Text && k != llm.ToolCall {
			continue
		}
		for _, text := range v.x.texts[part] {
			patch := IsPatch(text)
			for line := range strings.Lines(text) {
				need(v.missing(Clean(line), patch))
			}
		}
	}
	for _, l := range v.lost {
		if l.id < 0 || !v.recalled[l.id] {
			need(v.x.showing(&l))
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	for _, part := range out {
		for _, id := range v.x.lines[part] {
			v.recalled[id] = true
		}
	}
	return out
}

// missing returns the parts that show a line of an answer, where the request shows it
// in none of its forms, and no longer line with it; nil where it does, or the line is too short to be sure.
func (v *View) missing(line string, patch bool) []int32 {
	if len(line) < minQuote {
		return nil
	}
	var in []int32
	shown := false
	Forms(line, patch, func(form string) {
		if id, ok := v.x.ids[form]; ok {
			shown = shown || v.count[id] > 0 || v.recalled[id]
			if len(form) >= minQuote && !shown && slices.ContainsFunc(v.x.parts[id], v.isReplaced) {
				in = append(in, v.x.parts[id]...)
				shown = v.showsWithin(form)
			}
		}
	})
	if shown {
		return nil
	}
	slices.Sort(in)
	return in
}

// isReplaced reports whether a part is in the request, with a placeholder in its place.
func (v *View) isReplaced(part int32) bool {
	_, replaced := v.replaced[int(part)]
	return replaced && int(part) >= v.begin && int(part) < v.end
}

// showsWithin reports whether the request shows a line within a longer one.
func (v *View) showsWithin(line string) bool {
	in, ok := v.x.within[line]
	if !ok {
		for part, texts := range v.x.texts {
			if anyContains(texts, line) {
				in = append(in, int32(part))
			}
		}
		v.x.within[line] = in
	}
	return slices.ContainsFunc(in, func(part int32) bool {
		return int(part) >= v.begin && int(part) < v.end && !v.isReplaced(part)
	}) || v.anyPlaceholder(func(texts []string) bool { return anyContains(texts, line) })
}

// A line that an answer repeats is sure to be needed. An agent also uses a text without repeating a line of it: it reads a
// path that only a listing showed, or calls a function that it saw in a file. So there is a second, stricter count: a
// part is recalled by name where an answer has a name that the recorded request showed and the smaller one does not. It
// counts too much, since a model also finds names by itself.

// minName is how many bytes a name has at least.
const minName = 6

// names are the names in the answers of a session, named by a number.
type names struct {
	ids   map[string]int32
	of    [][]int32 // by part: the names in it, each once
	parts [][]int32 // by name: the parts that have it
}

// newNames finds them in the parts that are texts and calls of the model, and then in all parts.
func newNames(x *Index) *names {
	n := &names{ids: make(map[string]int32), of: make([][]int32, len(x.rec.Parts))}
	for part, p := range x.rec.Parts {
		if p.Message.Role != llm.Assistant || p.Kind != llm.Text && p.Kind != llm.ToolCall {
			continue
		}
		for _, text := range x.texts[part] {
			eachName(text, func(name string) {
				if _, ok := n.ids[name]; !ok {
					n.ids[name] = int32(len(n.ids))
				}
			})
		}
	}
	n.parts = make([][]int32, len(n.ids))
	for part := range x.rec.Parts {
		n.of[part] = n.known(x.texts[part])
		for _, id := range n.of[part] {
			n.parts[id] = append(n.parts[id], int32(part))
		}
	}
	return n
}

// known returns the names in texts, each once.
func (n *names) known(texts []string) []int32 {
	var out []int32
	for _, text := range texts {
		eachName(text, func(name string) {
			if id, ok := n.ids[name]; ok {
				out = append(out, id)
			}
		})
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// eachName calls do with the names in a text: letters, digits and underscores, with single dots and hyphens between them,
// that are no words of plain text.
func eachName(text string, do func(name string)) {
	start := -1
	for i := 0; i <= len(text); i++ {
		switch {
		case i < len(text) && isNameByte(text[i]):
			if start < 0 {
				start = i
			}
		case start >= 0 && i+1 < len(text) && (text[i] == '.' || text[i] == '-') && isNameByte(text[i-1]) && isNameByte(text[i+1]):
		default:
			if start >= 0 && i-start >= minName && isSpecial(text[start:i]) {
				do(text[start:i])
			}
			start = -1
		}
	}
}

func isNameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// isSpecial reports whether a word has a digit, an underscore, a dot, or a capital after a small letter.
func isSpecial(word string) bool {
	small := false
	for i := range len(word) {
		switch c := word[i]; {
		case c >= 'a' && c <= 'z':
			small = true
		case c == '_' || c == '.' || c >= '0' && c <= '9' || small && c >= 'A' && c <= 'Z':
			return true
		default:
			small = false
		}
	}
	return false
}

// RecallsByName returns what the answer to the request shown last would have recalled, by its lines (which Recalls has returned) and
// by its names. A name that was in several parts is recalled of the newest. Each part is recalled whole once in a context.
func (v *View) RecallsByName(i int, byLine []int) (out []int) {
	add := func(part int) {
		if v.asked[part] {
			return
		}
		out = append(out, part)
		v.asked[part] = true
		for _, id := range v.x.names.of[part] {
			v.named[id] = true
		}
	}
	for _, r := range byLine {
		add(r)
	}
	q := &v.x.rec.Requests[i]
	for part := v.x.rec.End(q); part < v.x.rec.First[q.To+1]; part++ {
		if k := v.x.rec.Parts[part].Kind; k != llm.Text && k != llm.ToolCall {
			continue
		}
		for _, id := range v.x.names.of[part] {
			if v.names[id] > 0 || v.named[id] {
				continue
			}
			for _, in := range slices.Backward(v.x.names.parts[id]) {
				if _, replaced := v.replaced[int(in)]; replaced && int(in) >= v.begin && int(in) < v.end {
					add(int(in))
					break
				}
			}
		}
	}
	return out
}
