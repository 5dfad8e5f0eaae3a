package history

import (
	"hash/maphash"
	"iter"
	"slices"
)

// lineIndex tells where in texts a line stands.
type lineIndex struct {
	seed     maphash.Seed
	slots    []slot      // an open hash table of the lines
	newest   []linePlace // by line: where it stands last
	mentions [][]mention // by text and index of a line there
	room     []mention   // for the texts to come
	expected int         // lines that there may be in all
}

// linePlace is a line of a text: indexes, that of the text plus 1. The zero
// value is none.
type linePlace struct{ text, line int32 }

// slot is a line: its hash, and its index in newest plus 1. The zero value is
// free.
type slot struct {
	hash uint32
	line int32
}

// mention is a place where a line stands: its index in newest plus 1, and the
// place before. The zero value is a line that is not looked for.
type mention struct {
	line  int32
	older linePlace
}

// minIndexed is how many bytes a line must have to be looked for. Shorter ones
// are found beside their neighbours.
const minIndexed = 6

// bytesPerLine is how many bytes of text bring one line to the index: in recorded
// sessions 70 to 250, since many lines stand in several texts.
const bytesPerLine = 128

// add indexes the texts that are not in the index yet.
func (x *lineIndex) add(texts []text) {
	for len(x.mentions) < len(texts) {
		lines := texts[len(x.mentions)].lines
		x.mentions = append(x.mentions, x.take(len(lines)))
		x.grow(len(lines))
		of := x.mentions[len(x.mentions)-1]
		var behind linePlace // what followed the line before when it stood above
		for i, line := range lines {
			if len(line) < minIndexed {
				behind.line++
				continue
			}
			id := x.at(texts, behind, line)
			if id == 0 {
				id = x.id(texts, line)
			}
			here := &x.newest[id-1]
			of[i] = mention{id, *here}
			behind = linePlace{here.text, here.line + 1}
			*here = linePlace{int32(len(x.mentions)), int32(i)}
		}
	}
}

// take returns n mentions.
func (x *lineIndex) take(n int) []mention {
	if n > len(x.room) {
		x.room = make([]mention, max(n, 512))
	}
	out := x.room[:n:n]
	x.room = x.room[n:]
	return out
}

// at returns the index of line in newest plus 1 if that is what stands at p; else
// 0.
func (x *lineIndex) at(texts []text, p linePlace, line string) int32 {
	if p.text == 0 {
		return 0
	}
	if lines := texts[p.text-1].lines; int(p.line) < len(lines) && lines[p.line] == line {
		return x.mentions[p.text-1][p.line].line
	}
	return 0
}

// id returns the index of line in newest plus 1. A line that is not there yet
// takes the next place.
func (x *lineIndex) id(texts []text, line string) int32 {
	h := x.hash(line)
	s := x.slot(texts, line, h)
	if s.line == 0 {
		x.newest = append(x.newest, linePlace{})
		*s = slot{h, int32(len(x.newest))}
	}
	return s.line
}

// places yields the texts that a line of minIndexed bytes or more stands in, the
// newest first, and where: indexes of texts and of the lines there.
func (l *ledger) places(line string) iter.Seq2[int, int] {
	return func(yield func(text, at int) bool) {
		x := &l.index
		x.add(l.texts)
		if len(x.slots) == 0 {
			return
		}
		s := x.slot(l.texts, line, x.hash(line))
		if s.line == 0 {
			return
		}
		for p := x.newest[s.line-1]; p.text > 0 && yield(int(p.text-1), int(p.line)); {
			p = x.mentions[p.text-1][p.line].older
		}
	}
}

func (x *lineIndex) hash(line string) uint32 { return uint32(maphash.String(x.seed, line)) }

// slot returns the slot of a line, or the one to put it in.
func (x *lineIndex) slot(texts []text, line string, h uint32) *slot {
	mask := len(x.slots) - 1
	for i := int(h) & mask; ; i = (i + 1) & mask {
		s := &x.slots[i]
		if s.line == 0 {
			return s
		}
		if s.hash == h {
			if p := x.newest[s.line-1]; texts[p.text-1].lines[p.line] == line {
				return s
			}
		}
	}
}

// grow makes room for n more lines, and for those that are expected: at most half
// of the slots are used.
func (x *lineIndex) grow(n int) {
	n += len(x.newest)
	if 2*n <= len(x.slots) && len(x.slots) > 0 {
		return
	}
	size := 64
	for size < max(3*n, 2*x.expected) {
		size *= 2
	}
	x.newest = slices.Grow(x.newest, size/2-len(x.newest))
	old := x.slots
	x.slots = make([]slot, size)
	for _, s := range old {
		if s.line == 0 {
			continue
		}
		i := int(s.hash) & (size - 1)
		for x.slots[i].line != 0 {
			i = (i + 1) & (size - 1)
		}
		x.slots[i] = s
	}
}
