package history

import (
	"hash/maphash"
	"slices"
)

// lineIndex tells where in the texts of a file a line stands.
type lineIndex struct {
	seed   maphash.Seed
	texts  int     // how many are in it
	slots  []int32 // an open hash table: the newest place of each line, as places' index plus 1; 0 is free
	used   int
	places []linePlace
}

// linePlace is a line of a text, and the place before it of the same line:
// indexes, the last of places and plus 1.
type linePlace struct {
	hash       uint32
	text, line int32
	older      int32
}

// minIndexed is how many bytes a line must have to be looked for. Shorter ones
// are found beside their neighbours.
const minIndexed = 6

// add indexes the texts that are not in the index yet.
func (x *lineIndex) add(texts []text) {
	for ; x.texts < len(texts); x.texts++ {
		lines := texts[x.texts].lines
		x.grow(len(lines))
		x.places = slices.Grow(x.places, len(lines))
		for i, line := range lines {
			if len(line) < minIndexed {
				continue
			}
			h := x.hash(line)
			s := x.slot(texts, line, h)
			if x.slots[s] == 0 {
				x.used++
			}
			x.places = append(x.places, linePlace{h, int32(x.texts), int32(i), x.slots[s]})
			x.slots[s] = int32(len(x.places))
		}
	}
}

// find returns the newest place of a line, as places' index plus 1; 0 is none.
func (x *lineIndex) find(texts []text, line string) int32 {
	if x.used == 0 {
		return 0
	}
	return x.slots[x.slot(texts, line, x.hash(line))]
}

func (x *lineIndex) hash(line string) uint32 { return uint32(maphash.String(x.seed, line)) }

// slot returns the slot of a line, or the one to put it in.
func (x *lineIndex) slot(texts []text, line string, h uint32) int {
	mask := len(x.slots) - 1
	for s := int(h) & mask; ; s = (s + 1) & mask {
		if x.slots[s] == 0 {
			return s
		}
		if p := &x.places[x.slots[s]-1]; p.hash == h && texts[p.text].lines[p.line] == line {
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
	x.slots = make([]int32, size)
	for _, e := range old {
		if e == 0 {
			continue
		}
		s := int(x.places[e-1].hash) & (size - 1)
		for x.slots[s] != 0 {
			s = (s + 1) & (size - 1)
		}
		x.slots[s] = e
	}
}
