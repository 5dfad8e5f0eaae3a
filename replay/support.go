package replay

import (
	"strings"

	"github.com/stet-dev/stet/dialect"
	"github.com/stet-dev/stet/llm"
)

// Support is how the edits of a session fare whose old text stood in the
// request that the model answered with them, every line of it.
type Support struct {
	Supported int // it is all there, in one piece if it was
	Split     int // every line is there, but no longer in one piece
	Lost      int // some line is not
}

// need is the old text of an edit that a request answered.
type need struct {
	request int
	want    []string // its lines, blanks at their ends cut off
	lines   []needLine
	whole   []int32 // blocks that show it in one piece; none: no block does
}

// needLine is a line that is needed: known by its number, or, where it is a
// part of a line, by the blocks that hold it.
type needLine struct {
	text string
	id   int32 // −1: see in
	in   []int32
}

// prepare finds the lines of the session, what its edits need, and the agent's
// own stubs.
func (r *recording) prepare() {
	if r.texts != nil {
		return
	}
	r.texts = newTexts(r.parts)
	v := newView(r.texts)
	table := dialect.Default()
	var files reads
	from, n := -1, 0
	for i := range r.requests {
		q := &r.requests[i]
		if q.from != from {
			from, n, files = q.from, r.first[q.from], make(reads)
			v.reset()
		}
		for ; n < r.first[q.to]; n++ {
			v.add(n)
			if r.parts[n].part.Kind == llm.ToolResult {
				if s, ok := files.result(r, n); ok {
					r.stubs = append(r.stubs, s)
				}
			}
		}
		for b := r.first[q.to]; b < r.first[q.to+1]; b++ {
			p := r.parts[b].part
			if p.Kind != llm.ToolCall {
				continue
			}
			for _, e := range table.Action(p.Name, p.Args).Edits {
				if nd, ok := r.need(v, e.Old, r.first[from], n); ok {
					nd.request = i
					r.needs = append(r.needs, nd)
				}
			}
		}
	}
}

// need looks for the old text of an edit in the blocks first to end, which v
// shows. It is false where the text is blank or some line of it is not there.
func (r *recording) need(v *view, old string, first, end int) (need, bool) {
	var nd need
	for line := range strings.Lines(strings.Trim(old, "\r\n")) {
		nd.want = append(nd.want, clean(line))
	}
	for len(nd.want) > 0 && nd.want[len(nd.want)-1] == "" {
		nd.want = nd.want[:len(nd.want)-1]
	}
	longest := -1
	for i, w := range nd.want {
		if w == "" {
			continue
		}
		line := needLine{text: w, id: -1}
		if id, ok := r.texts.ids[w]; ok && v.count[id] > 0 && len(nd.want) > 1 {
			line.id = id
		} else if i == 0 || i == len(nd.want)-1 {
			line.in = r.holding(w, first, end)
		}
		if line.id < 0 && len(line.in) == 0 {
			return nd, false
		}
		if longest < 0 || len(w) > len(nd.lines[longest].text) {
			longest = len(nd.lines)
		}
		nd.lines = append(nd.lines, line)
	}
	if longest < 0 {
		return nd, false
	}
	in := nd.lines[longest].in
	if id := nd.lines[longest].id; id >= 0 {
		in = r.texts.blocks[id]
	}
	for _, at := range in {
		if int(at) >= first && int(at) < end && anyPiece(r.texts.shown[at], nd.want) {
			nd.whole = append(nd.whole, at)
		}
	}
	return nd, true
}

// holding returns the blocks that show a part of a line.
func (r *recording) holding(part string, first, end int) []int32 {
	var out []int32
	for at := first; at < end; at++ {
		if anyHolds(r.texts.shown[at], part) {
			out = append(out, int32(at))
		}
	}
	return out
}

func anyHolds(texts []string, part string) bool {
	for _, t := range texts {
		if strings.Contains(t, part) {
			return true
		}
	}
	return false
}

func anyPiece(texts []string, want []string) bool {
	for _, t := range texts {
		if inOnePiece(t, want) {
			return true
		}
	}
	return false
}

// check tells how an edit fares in what v shows.
func (s *Support) check(r *recording, nd *need, v *view) {
	for _, l := range nd.lines {
		if l.id >= 0 && v.count[l.id] > 0 || v.uncut(l.in) {
			continue
		}
		if !v.cutHolds(r, func(texts []string) bool { return l.id < 0 && anyHolds(texts, l.text) }) {
			s.Lost++
			return
		}
	}
	if len(nd.whole) == 0 || v.uncut(nd.whole) ||
		v.cutHolds(r, func(texts []string) bool { return anyPiece(texts, nd.want) }) {
		s.Supported++
	} else {
		s.Split++
	}
}

// uncut reports whether any of the blocks is shown as it was recorded.
func (v *view) uncut(blocks []int32) bool {
	for _, at := range blocks {
		if _, ok := v.edited[int(at)]; !ok {
			return true
		}
	}
	return false
}

// cutHolds reports whether what stands in place of any block holds something.
func (v *view) cutHolds(r *recording, holds func(texts []string) bool) bool {
	for at, text := range v.edited {
		if holds(visible(textPart(r.parts[at].part.Kind, text))) {
			return true
		}
	}
	return false
}
