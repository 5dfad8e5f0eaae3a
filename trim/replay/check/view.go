package check

import (
	"slices"

	"github.com/stet-dev/stet/llm"
)

// Omission is a part whose text, or arguments, a placeholder replaces.
type Omission struct {
	Part        int // in the recording
	Placeholder string
	Pointer     bool // the placeholder says that the text is elsewhere in the request
}

// View is what the requests of a session show under one policy, one request after
// the other.
type View struct {
	Edits Edits

	x        *Index
	count    []int32        // by line: how many parts show it
	replaced map[int]string // placeholders by part
	from     int            // the first message of the context
	begin    int            // its first part
	end      int            // the end of the parts that are shown
	dangling map[int]bool   // parts whose placeholder, or stub, was untrue in some request
	next     []edit         // of the requests that are not shown yet
	lost     []editLine     // lines that edits of the last request miss
	recalled map[int32]bool // lines that the agent has asked for again in the context
	names    []int32        // by name: how many parts have it
	named    map[int32]bool // names of parts that were recalled in the context, by line or by name
	asked    map[int]bool   // these parts
}

// View returns a view before the first request.
func (x *Index) View() *View {
	return &View{
		x: x, count: make([]int32, len(x.ids)), replaced: make(map[int]string), from: -1,
		dangling: make(map[int]bool), next: x.edits, recalled: make(map[int32]bool),
		names: make([]int32, len(x.names.ids)), named: make(map[int32]bool), asked: make(map[int]bool),
	}
}

// Dangling returns how many placeholders, and stubs of the agent, have pointed at
// text that was not in the request.
func (v *View) Dangling() int { return len(v.dangling) }

// Begin returns the first part of the context.
func (v *View) Begin() int { return v.begin }

// Placeholder returns what is in place of a part; ok is false if the part is shown as it was recorded.
func (v *View) Placeholder(part int) (text string, ok bool) {
	text, ok = v.replaced[part]
	return text, ok
}

// Show goes on to request i of the recording, with what is left out of it in the
// order of the parts, and checks it.
func (v *View) Show(i int, omissions []Omission) {
	q := &v.x.rec.Requests[i]
	v.begins(q)
	shown := v.end
	for ; v.end < v.x.rec.End(q); v.end++ {
		v.changePart(v.end, 1)
	}
	unchecked := v.replace(omissions, shown)
	for _, o := range unchecked {
		if v.dangling[o.Part] {
			continue
		}
		if o.Pointer && !v.showsContent(o.Part) || !v.isTrue(o.Part, o.Placeholder) {
			v.dangling[o.Part] = true
		}
	}
	v.checkStubs()
	v.lost = v.lost[:0]
	for ; len(v.next) > 0 && v.next[0].request == i; v.next = v.next[1:] {
		v.checkEdit(&v.next[0])
	}
}

// begins empties the view if q is the first request of a context.
func (v *View) begins(q *Request) bool {
	if q.From == v.from {
		return false
	}
	v.from, v.begin, v.end = q.From, v.x.rec.Begin(q), v.x.rec.Begin(q)
	clear(v.count)
	clear(v.replaced)
	clear(v.recalled)
	clear(v.names)
	clear(v.named)
	clear(v.asked)
	return true
}

// replace brings the placeholders of the last request to these. It returns those
// that must be checked: all, if any of the parts before shown has changed.
func (v *View) replace(omissions []Omission, shown int) []Omission {
	now := make(map[int]string, len(omissions))
	changed, isNew := false, len(omissions)
	for i, o := range omissions {
		now[o.Part] = o.Placeholder
		if text, ok := v.replaced[o.Part]; ok && text == o.Placeholder {
			continue
		}
		changed = changed || o.Part < shown
		isNew = min(isNew, i)
	}
	for part, text := range v.replaced {
		if placeholder, ok := now[part]; ok && placeholder == text {
			continue
		}
		changed = true
		v.changeTexts(v.ShownAs(part, text), -1)
		v.changePart(part, 1)
		delete(v.replaced, part)
	}
	for _, o := range omissions[isNew:] {
		if _, ok := v.replaced[o.Part]; ok {
			continue
		}
		v.changePart(o.Part, -1)
		v.changeTexts(v.ShownAs(o.Part, o.Placeholder), 1)
		v.replaced[o.Part] = o.Placeholder
	}
	if changed {
		return omissions
	}
	return omissions[isNew:]
}

// changePart counts what a part shows, as it was recorded, so many times more.
func (v *View) changePart(part int, by int32) { v.change(v.x.lines[part], v.x.names.of[part], by) }

// changeTexts counts what texts show.
func (v *View) changeTexts(texts []string, by int32) {
	v.change(v.x.known(texts), v.x.names.known(texts), by)
}

func (v *View) change(lines, names []int32, by int32) {
	for _, id := range lines {
		v.count[id] += by
	}
	for _, id := range names {
		v.names[id] += by
	}
}

// ShownAs returns the texts that a placeholder shows in place of a part.
func (v *View) ShownAs(part int, placeholder string) []string {
	if v.x.rec.Parts[part].Kind == llm.ToolCall {
		return visible(&llm.Part{Kind: llm.ToolCall, Args: placeholder})
	}
	return visible(&llm.Part{Kind: v.x.rec.Parts[part].Kind, Text: placeholder})
}

// shows reports whether a line is shown in any of its forms.
func (v *View) shows(forms []int32) bool {
	return slices.ContainsFunc(forms, func(id int32) bool { return v.count[id] > 0 })
}

// showsContent reports whether every line that a pointer in place of a part may
// mean is somewhere in the request.
func (v *View) showsContent(part int) bool {
	for _, forms := range v.x.contentOf(part) {
		if !v.shows(forms) && !v.showsRow(part, forms[0]) {
			return false
		}
	}
	return true
}

// showsRow reports whether a line that a search printed in a part is without its path below another one, or below a
// pointer that isTrue follows.
func (v *View) showsRow(part int, id int32) bool {
	rows := v.x.rowsOf(part)
	row, ok := rows[id]
	if !ok {
		return false
	}
	if of, ok := v.x.ids[row]; ok && v.count[of] > 0 {
		return true
	}
	return v.anyPlaceholder(func(texts []string) bool { return anyContains(texts, row) })
}

// showsAny reports whether any of the parts is shown as it was recorded.
func (v *View) showsAny(parts []int32) bool {
	return slices.ContainsFunc(parts, func(part int32) bool {
		_, replaced := v.replaced[int(part)]
		return !replaced
	})
}

// anyPlaceholder reports whether the texts of any placeholder fulfil a condition.
func (v *View) anyPlaceholder(holds func(texts []string) bool) bool {
	for part, text := range v.replaced {
		if part >= v.begin && part < v.end && holds(v.ShownAs(part, text)) {
			return true
		}
	}
	return false
}
