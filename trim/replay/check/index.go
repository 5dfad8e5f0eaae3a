package check

import (
	"slices"
	"strings"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/dialect"
)

// Index is what is known of a whole session before anything is left out. Parts
// are named by their index in the recording, lines by a number. It serves one
// goroutine.
type Index struct {
	Pointers PointerCheck // nil: it is only checked that the lines of a pointer are somewhere in the request

	rec     *Recording
	ids     map[string]int32 // lines by their text
	lines   [][]int32        // by part: the lines it shows, each once
	texts   [][]string       // by part: the texts it shows
	parts   [][]int32        // by line: the parts that show it
	size    []int            // by line: its bytes
	content map[int][][]int32
	within  map[string][]int32 // by line: the parts that show it, also within a longer line; made when it is first asked for
	names   *names
	edits   []edit // in the order of the requests
	stubs   []stub // in the order of the parts
}

// NewIndex reads a session.
func NewIndex(rec *Recording) *Index {
	x := &Index{
		rec: rec, ids: make(map[string]int32), lines: make([][]int32, len(rec.Parts)), texts: make([][]string, len(rec.Parts)),
		content: make(map[int][][]int32), within: make(map[string][]int32),
	}
	for i, p := range rec.Parts {
		x.texts[i] = visible(p.Part)
		for _, text := range x.texts[i] {
			eachLine(text, func(line string) { x.addLine(i, line) })
		}
	}
	x.names = newNames(x)
	x.findNeeds()
	return x
}

func (x *Index) addLine(part int, line string) {
	id, ok := x.ids[line]
	if !ok {
		id = int32(len(x.ids))
		x.ids[line] = id
		x.parts, x.size = append(x.parts, nil), append(x.size, len(line))
	}
	if in := x.parts[id]; len(in) == 0 || in[len(in)-1] != int32(part) {
		x.parts[id] = append(in, int32(part))
		x.lines[part] = append(x.lines[part], id)
	}
}

// findNeeds goes through the requests, and finds the edits that answered them and
// the stubs in them.
func (x *Index) findNeeds() {
	v := x.View()
	table := dialect.Default()
	var seen readsByPath
	for i := range x.rec.Requests {
		q := &x.rec.Requests[i]
		if v.begins(q) {
			seen = make(readsByPath)
		}
		for ; v.end < x.rec.End(q); v.end++ {
			v.changePart(v.end, 1)
			if x.rec.Parts[v.end].Kind == llm.ToolResult {
				if s, ok := seen.add(x, v.end); ok {
					x.stubs = append(x.stubs, s)
				}
			}
		}
		for _, p := range x.rec.Parts[x.rec.End(q):x.rec.First[q.To+1]] {
			if p.Kind != llm.ToolCall {
				continue
			}
			for _, change := range table.Action(p.Name, p.Args).Edits {
				if e, ok := v.findEdit(change.Old); ok {
					e.request = i
					x.edits = append(x.edits, e)
				}
			}
		}
	}
}

// Recording returns the session.
func (x *Index) Recording() *Recording { return x.rec }

// Texts returns the texts that a part shows.
func (x *Index) Texts(part int) []string { return x.texts[part] }

// TextsOnce returns the texts that a part shows, each line of them once. A JSON
// value of several lines gives its text, one of a single line the strings in it.
func (x *Index) TextsOnce(part int) []string {
	texts := x.texts[part]
	switch {
	case len(texts) < 2 || x.rec.Parts[part].Kind == llm.ToolCall:
		return texts
	case strings.Contains(strings.TrimSpace(texts[0]), "\n"):
		return texts[:1]
	}
	return texts[1:]
}

// known returns the lines of texts that are lines of the session, each once.
func (x *Index) known(texts []string) []int32 {
	var out []int32
	add := func(line string) {
		if id, ok := x.ids[line]; ok {
			out = append(out, id)
		}
	}
	for _, text := range texts {
		eachLine(text, add)
		underHeadings(text, add)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// contentOf returns the lines of a part that a pointer in its place may mean, each
// with all its forms. A read has the lines of its files, any other part all.
func (x *Index) contentOf(part int) [][]int32 {
	if lines, ok := x.content[part]; ok {
		return lines
	}
	var lines [][]int32
	for _, s := range x.Sections(part) {
		for _, line := range s.Lines {
			if id, ok := x.ids[Clean(line)]; ok {
				lines = append(lines, []int32{id})
			}
		}
	}
	if len(lines) == 0 {
		for _, text := range x.TextsOnce(part) {
			for raw := range strings.Lines(text) {
				lines = append(lines, x.known([]string{raw}))
			}
		}
	}
	lines = slices.DeleteFunc(lines, func(forms []int32) bool { return len(forms) == 0 })
	x.content[part] = lines
	return lines
}

// Sections returns what a recorded result shows of files.
func (x *Index) Sections(part int) []dialect.Section {
	c, p := x.rec.Call(part), x.rec.Parts[part].Part
	if c == nil {
		return nil
	}
	table := dialect.Default()
	return table.Result(table.Action(c.Name, c.Args), p.Text, p.IsError).Sections
}

// rowsOf returns the lines of a part that a search printed after the path of their file, without it.
func (x *Index) rowsOf(part int) map[int32]string {
	lines := strings.SplitAfter(x.rec.Parts[part].Text, "\n")
	out := make(map[int32]string)
	for _, rows := range dialect.SearchRows(lines) {
		for i, start := range rows.Starts {
			line := lines[rows.From+i]
			if id, ok := x.ids[Clean(line)]; ok {
				out[id] = Clean(line[start:])
			}
		}
	}
	return out
}
