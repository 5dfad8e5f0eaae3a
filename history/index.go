package history

import (
	"hash/maphash"
	"iter"
)

// lineIndex tells where in texts a line stands.
type lineIndex struct {
	seed  maphash.Seed
	slots []slot // an open hash table
	used  int
	older [][]linePlace // by text and line: the place before it of the same line
}

// linePlace is a line of a text: indexes, that of the text plus 1. The zero
// value is none.
type linePlace struct{ text, line int32 }

// slot is the newest place of a line. The zero value is free.
type slot struct {
	hash uint32
	linePlace
}

// minIndexed is how many bytes a line must have to be looked for. Shorter ones
// are found beside their neighbours.
const minIndexed = 6

// add indexes the texts that are not in the index yet.
func (x *lineIndex) add(texts []text) {
	for len(x.older) < len(texts) {
		lines := texts[len(x.older)].lines
		older := make([]linePlace, len(lines))
		x.older = append(x.older, older)
		x.grow(len(lines))
		for i, line := range lines {
			if len(line) < minIndexed {
				continue
			}
			h := x.hash(line)
			s := x.slot(texts, line, h)
			if s.text == 0 {
				x.used++
			}
			older[i], *s = s.linePlace, slot{h, linePlace{int32(len(x.older)), int32(i)}}
		}
	}
}

// places yields the texts that a line of minIndexed bytes or more stands in, the
// newest first, and where: indexes of texts and of the lines there.
func (l *ledger) places(line string) iter.Seq2[int, int] {
	return func(yield func(text, at int) bool) {
		x := &l.index
		x.add(l.texts)
		if x.used == 0 {
			return
		}
		p := x.slot(l.texts, line, x.hash(line)).linePlace
		for p.text > 0 && yield(int(p.text-1), int(p.line)) {
			p = x.older[p.text-1][p.line]
		}
	}
}

func (x *lineIndex) hash(line string) uint32 { return uint32(maphash.String(x.seed, line)) }

// slot returns the slot of a line, or the one to put it in.
func (x *lineIndex) slot(texts []text, line string, h uint32) *slot {
	mask := len(x.slots) - 1
	for i := int(h) & mask; ; i = (i + 1) & mask {
		s := &x.slots[i]
		if s.text == 0 || s.hash == h && texts[s.text-1].lines[s.line] == line {
			return s
		}
	}
}

// grow makes room for n more lines: at most half of the slots are used.
func (x *lineIndex) grow(n int) {
	if 2*(x.used+n) <= len(x.slots) && len(x.slots) > 0 {
		return
	}
	size := 64
	for size < 3*(x.used+n) {
		size *= 2
	}
	old := x.slots
	x.slots = make([]slot, size)
	for _, s := range old {
		if s.text == 0 {
			continue
		}
		i := int(s.hash) & (size - 1)
		for x.slots[i].text != 0 {
			i = (i + 1) & (size - 1)
		}
		x.slots[i] = s
	}
}
