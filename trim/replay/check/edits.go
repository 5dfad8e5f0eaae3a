package check

import (
	"slices"
	"strings"
)

// Edits counts the edits of a session whose old text was in the recorded request
// that they answered, every line of it, by how they fare under a policy.
type Edits struct {
	Supported int // the old text is there, in one piece if it was
	Split     int // every line is there, but no longer in one piece
	Lost      int // some line is not there
}

// edit is the old text of an edit, and where it was.
type edit struct {
	request int      // that the edit answered
	want    []string // the lines, without blanks at their ends
	lines   []editLine
	whole   []int32 // parts that show it in one piece; empty: none does
}

// editLine is a line of an edit's old text. The first and the last one may be a
// piece of a line: it is known by the parts that show it.
type editLine struct {
	text    string
	id      int32 // −1: a piece
	pieceIn []int32
}

// EditCount returns the number of edits whose old text was in the recorded
// request.
func (x *Index) EditCount() int { return len(x.edits) }

// NeededBy returns the parts whose text the edits that answered request i need. A
// line that is in several parts is needed of the newest.
func (x *Index) NeededBy(i int) []int {
	end := x.rec.End(&x.rec.Requests[i])
	var out []int
	newest := func(parts []int32) {
		for _, part := range slices.Backward(parts) {
			if int(part) < end {
				out = append(out, int(part))
				return
			}
		}
	}
	from, _ := slices.BinarySearchFunc(x.edits, i, func(e edit, i int) int { return e.request - i })
	for _, e := range x.edits[from:] {
		if e.request != i {
			break
		}
		if len(e.whole) > 0 {
			newest(e.whole)
			continue
		}
		for _, l := range e.lines {
			newest(x.showing(&l))
		}
	}
	return out
}

// showing returns the parts that show a line of an edit.
func (x *Index) showing(l *editLine) []int32 {
	if l.id >= 0 {
		return x.parts[l.id]
	}
	return l.pieceIn
}

// findEdit looks for the old text of an edit in the request that is shown. It is
// false where the text is blank or some line of it is not there.
func (v *View) findEdit(old string) (edit, bool) {
	var e edit
	for line := range strings.Lines(strings.Trim(old, "\r\n")) {
		e.want = append(e.want, Clean(line))
	}
	for len(e.want) > 0 && e.want[len(e.want)-1] == "" {
		e.want = e.want[:len(e.want)-1]
	}
	longest := -1
	for i, want := range e.want {
		if want == "" {
			continue
		}
		line := editLine{text: want, id: -1}
		if id, ok := v.x.ids[want]; ok && v.count[id] > 0 && len(e.want) > 1 {
			line.id = id
		} else if i == 0 || i == len(e.want)-1 {
			line.pieceIn = v.partsWith(want)
		}
		if line.id < 0 && len(line.pieceIn) == 0 {
			return e, false
		}
		if longest < 0 || len(want) > len(e.lines[longest].text) {
			longest = len(e.lines)
		}
		e.lines = append(e.lines, line)
	}
	if longest < 0 {
		return e, false
	}
	for _, part := range v.x.showing(&e.lines[longest]) {
		if int(part) >= v.begin && int(part) < v.end && anyInOnePiece(v.x.texts[part], e.want) {
			e.whole = append(e.whole, part)
		}
	}
	return e, true
}

// partsWith returns the parts of the request whose recorded text holds a piece of a
// line.
func (v *View) partsWith(piece string) []int32 {
	var out []int32
	for part := v.begin; part < v.end; part++ {
		if anyContains(v.x.texts[part], piece) {
			out = append(out, int32(part))
		}
	}
	return out
}

// checkEdit counts an edit that answered the request that is shown.
func (v *View) checkEdit(e *edit) {
	missed := len(v.lost)
	for _, l := range e.lines {
		if l.id >= 0 && v.count[l.id] > 0 || v.showsAny(l.pieceIn) {
			continue
		}
		if !v.anyPlaceholder(func(texts []string) bool { return l.id < 0 && anyContains(texts, l.text) }) {
			v.lost = append(v.lost, l)
		}
	}
	if len(v.lost) > missed {
		v.Edits.Lost++
		return
	}
	if len(e.whole) == 0 || v.showsAny(e.whole) ||
		v.anyPlaceholder(func(texts []string) bool { return anyInOnePiece(texts, e.want) }) {
		v.Edits.Supported++
	} else {
		v.Edits.Split++
	}
}

func anyContains(texts []string, piece string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, piece) })
}

func anyInOnePiece(texts []string, want []string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return inOnePiece(text, want) })
}
