package check

import (
	"slices"
	"strings"

	"github.com/stet-dev/stet/llm"
)

// An agent that needs a text which was left out asks for it again: it recalls the part.
// In a recorded session it could not, so a recall is told from its answer: the answer
// repeats a line, or edits a text, that the recorded request showed and the smaller
// one does not.

// minQuote is how many bytes a line has at least whose repetition counts. Shorter
// ones stand in many texts.
const minQuote = 24

// Recalls returns the parts that the answer to the request shown last would have
// recalled, each once. A line that stood in several parts is recalled of the newest.
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
			patch := isPatch(text)
			for line := range strings.Lines(text) {
				need(v.missing(clean(line), patch))
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
// in none of its forms, and no longer line with it; nil where it does, or the line is too short to tell.
func (v *View) missing(line string, patch bool) []int32 {
	if len(line) < minQuote {
		return nil
	}
	var in []int32
	shown := false
	forms(line, patch, func(form string) {
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
