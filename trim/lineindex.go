package trim

import "iter"

// lineIndex finds the passages that hold a line. A line has a number of its own,
// its id: 1 is the first line that was indexed.
type lineIndex struct {
	ids      map[string]int32
	newest   []linePlace // by id, minus 1: where the line stands last
	mentions [][]mention // by passage and index of a line there
	expected int         // lines that there may be in all
}

// linePlace is where a line stands: the index of a passage plus 1, and the index of
// the line in it. The zero value is none.
type linePlace struct{ passage, line int32 }

// mention is one place where a line stands, and the place before it. The zero value
// is a line that is not indexed.
type mention struct {
	id    int32
	older linePlace
}

// minIndexed is how many bytes an indexed line has at least. Shorter lines are found
// beside their neighbours.
const minIndexed = 6

// bytesPerLine is how many bytes of text bring one line to the index. In recorded
// sessions that is 70 to 250, since many lines stand in several passages.
const bytesPerLine = 128

// add indexes the passages that are not in the index yet.
func (x *lineIndex) add(passages []passage) {
	if x.ids == nil {
		x.ids = make(map[string]int32, x.expected)
	}
	for len(x.mentions) < len(passages) {
		lines := passages[len(x.mentions)].lines
		x.mentions = append(x.mentions, make([]mention, len(lines)))
		of := x.mentions[len(x.mentions)-1]
		var behind linePlace // what follows the line before where that stands above
		for i, line := range lines {
			if len(line) < minIndexed {
				behind.line++
				continue
			}
			id := x.idAt(passages, behind, line)
			if id == 0 {
				id = x.id(line)
			}
			here := &x.newest[id-1]
			of[i] = mention{id, *here}
			behind = linePlace{here.passage, here.line + 1}
			*here = linePlace{int32(len(x.mentions)), int32(i)}
		}
	}
}

// idAt returns the id of line if that is what stands at p; else 0. Following a passage
// in this way is faster than looking up each line.
func (x *lineIndex) idAt(passages []passage, p linePlace, line string) int32 {
	if p.passage == 0 {
		return 0
	}
	if lines := passages[p.passage-1].lines; int(p.line) < len(lines) && lines[p.line] == line {
		return x.mentions[p.passage-1][p.line].id
	}
	return 0
}

// id returns the id of line. A line that has none gets the next one.
func (x *lineIndex) id(line string) int32 {
	id := x.ids[line]
	if id == 0 {
		x.newest = append(x.newest, linePlace{})
		id = int32(len(x.newest))
		x.ids[line] = id
	}
	return id
}

// places yields where a line of minIndexed bytes or more stands, the newest place
// first: indexes of passages and of the lines there.
func (l *ledger) places(line string) iter.Seq2[int, int] {
	return func(yield func(passage, line int) bool) {
		x := &l.index
		x.add(l.passages)
		id := x.ids[line]
		if id == 0 {
			return
		}
		for p := x.newest[id-1]; p.passage > 0 && yield(int(p.passage-1), int(p.line)); {
			p = x.mentions[p.passage-1][p.line].older
		}
	}
}
