package bpe

import (
	"math/bits"
	"slices"
)

// shortTable maps a token of up to shortMax bytes to its rank. It is an open-addressing table, at most half full.
type shortTable struct {
	slots []uint32 // for a token, the low bits of its hash above its rank; 0: empty
	keys  []key    // by rank; the zero key for a longer token
}

// rankBits is the number of bits of the rank in a slot.
const rankBits = 18

func newShortTable(n int) shortTable {
	return shortTable{make([]uint32, 1<<bits.Len(uint(2*n-1))), make([]key, n)}
}

// place returns the first slot for k, and the mark above the rank in a slot, which is never 0.
func (t *shortTable) place(k key) (i, mark uint32) {
	h := hash(k.lo, k.hi)
	return uint32(h), uint32(h>>(64-32+rankBits)) | 1
}

func (t *shortTable) add(k key, rank uint32) {
	mask := uint32(len(t.slots) - 1)
	i, mark := t.place(k)
	for t.slots[i&mask] != 0 {
		i++
	}
	t.slots[i&mask] = mark<<rankBits | rank
	t.keys[rank] = k
}

func (t *shortTable) find(k key) (rank uint32, ok bool) {
	i, mark := t.place(k)
	for slots := t.slots; len(slots) > 0; i++ {
		slot := slots[int(i)&(len(slots)-1)]
		if slot>>rankBits == mark {
			rank := slot & (1<<rankBits - 1)
			if t.keys[rank] == k {
				return rank, true
			}
		} else if slot == 0 {
			break
		}
	}
	return 0, false
}

// longTable maps a token of more than shortMax bytes to its rank. About one token in forty is that long.
type longTable struct{ entries []longToken }

type longToken struct {
	text string // empty: no token
	rank uint32
}

// longSize is the size of the table: three times the need of the larger vocabulary.
const longSize = 1 << 14

func newLongTable() longTable { return longTable{make([]longToken, longSize)} }

func (t *longTable) slot(text string) uint64 {
	return hash(load64(text, 0)+uint64(len(text)), load64(text, 8)^load64(text, len(text)-8)>>1) % longSize
}

func (t *longTable) add(text string, rank uint32) {
	i := t.slot(text)
	for t.entries[i].text != "" {
		i = (i + 1) % longSize
	}
	t.entries[i] = longToken{text, rank}
}

func (t *longTable) find(text string) (rank uint32, ok bool) {
	for i := t.slot(text); ; i = (i + 1) % longSize {
		switch e := &t.entries[i]; e.text {
		case text:
			return e.rank, true
		case "":
			return 0, false
		}
	}
}

// starts has the lengths of the tokens that begin with three given bytes: bit n-3 for length n, bit 31 for all longer ones. The
// bytes are hashed, so a bit says that such a token may exist.
type starts struct {
	lengths [1 << 16]uint32
	longer  [1 << 16]uint8 // index in lists for bit 31
	lists   [][]uint8      // lengths, the greatest first; the first list is unused
}

// startMax is the greatest length with a bit of its own.
const startMax = 33

func (t *starts) slot(word uint64) uint64 { return (word << 40 * 0x9e3779b97f4a7c15) >> 48 }

// add adds a token of n bytes that begins with word.
func (t *starts) add(word uint64, n int) {
	if n < 3 {
		return
	}
	slot := t.slot(word)
	t.lengths[slot] |= 1 << min(n-3, 31)
	if n <= startMax {
		return
	}
	if t.longer[slot] == 0 {
		t.longer[slot] = uint8(len(t.lists))
		t.lists = append(t.lists, nil)
	}
	list := &t.lists[t.longer[slot]]
	i, found := slices.BinarySearchFunc(*list, n, func(have uint8, n int) int { return n - int(have) })
	if !found {
		*list = slices.Insert(*list, i, uint8(n))
	}
}
