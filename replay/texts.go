package replay

import (
	"slices"
	"strings"

	"github.com/stet-dev/stet/llm"
)

// texts are the lines of a session, each known by a number.
type texts struct {
	ids    map[string]int32
	lines  [][]int32         // by block: the lines it shows, each once
	shown  [][]string        // by block: the texts it shows
	blocks [][]int32         // by line: the blocks that show it
	points map[int][][]int32 // by block: see content
}

func newTexts(parts []partRef) *texts {
	t := &texts{
		ids: make(map[string]int32), lines: make([][]int32, len(parts)), shown: make([][]string, len(parts)),
		points: make(map[int][][]int32),
	}
	for i, p := range parts {
		t.shown[i] = visible(p.part)
		for _, text := range t.shown[i] {
			eachLine(text, func(line string) {
				id, ok := t.ids[line]
				if !ok {
					id = int32(len(t.ids))
					t.ids[line] = id
					t.blocks = append(t.blocks, nil)
				}
				if at := t.blocks[id]; len(at) == 0 || at[len(at)-1] != int32(i) {
					t.blocks[id] = append(at, int32(i))
					t.lines[i] = append(t.lines[i], id)
				}
			})
		}
	}
	return t
}

// known returns the lines of texts that are lines of the session, each once.
func (t *texts) known(shown []string) []int32 {
	var out []int32
	for _, text := range shown {
		eachLine(text, func(line string) {
			if id, ok := t.ids[line]; ok {
				out = append(out, id)
			}
		})
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// content returns the lines of a block that a line in its place may point at,
// each in all the forms in which it may be meant: those of the files that a read
// shows, else all.
func (r *recording) content(at int) [][]int32 {
	if lines, ok := r.texts.points[at]; ok {
		return lines
	}
	lines := r.read(at)
	if len(lines) == 0 {
		for _, text := range r.once(at) {
			for raw := range strings.Lines(text) {
				lines = append(lines, r.texts.known([]string{raw}))
			}
		}
	}
	lines = slices.DeleteFunc(lines, func(forms []int32) bool { return len(forms) == 0 })
	r.texts.points[at] = lines
	return lines
}

// once returns the texts that a block shows, each line of them once: of a JSON value
// of several lines its text, of one of a single line the strings in it.
func (r *recording) once(at int) []string {
	shown := r.texts.shown[at]
	switch {
	case len(shown) < 2 || r.parts[at].part.Kind == llm.ToolCall:
		return shown
	case strings.Contains(strings.TrimSpace(shown[0]), "\n"):
		return shown[:1]
	}
	return shown[1:]
}

// read returns the lines of files that a result shows, if it is a read's.
func (r *recording) read(at int) [][]int32 {
	var lines [][]int32
	for _, s := range r.sections(at) {
		for _, line := range s.Lines {
			if id, ok := r.texts.ids[clean(line)]; ok {
				lines = append(lines, []int32{id})
			}
		}
	}
	return lines
}

// view is what one request shows.
type view struct {
	texts  *texts
	count  []int32 // by line: how many blocks show it
	edited map[int]string
}

func newView(t *texts) *view {
	return &view{texts: t, count: make([]int32, len(t.ids)), edited: make(map[int]string)}
}

// reset empties the view.
func (v *view) reset() {
	clear(v.count)
	clear(v.edited)
}

// add shows a block as it was recorded.
func (v *view) add(at int) { v.change(v.texts.lines[at], 1) }

// cut shows text in place of a block.
func (v *view) cut(at int, kind llm.Kind, text string) {
	v.change(v.texts.lines[at], -1)
	v.change(v.texts.known(visible(textPart(kind, text))), 1)
	v.edited[at] = text
}

// restore takes back a cut.
func (v *view) restore(at int, kind llm.Kind) {
	v.change(v.texts.known(visible(textPart(kind, v.edited[at]))), -1)
	v.change(v.texts.lines[at], 1)
	delete(v.edited, at)
}

// shows reports whether a line is shown in any of its forms.
func (v *view) shows(forms []int32) bool {
	for _, id := range forms {
		if v.count[id] > 0 {
			return true
		}
	}
	return false
}

func (v *view) change(lines []int32, by int32) {
	for _, id := range lines {
		v.count[id] += by
	}
}

func textPart(kind llm.Kind, text string) *llm.Part {
	p := edited(&llm.Part{Kind: kind}, text)
	return &p
}
