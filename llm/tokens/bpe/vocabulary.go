package bpe

import (
	_ "embed" // the vocabularies
	"sync"
)

// The files have the tokens in the order of their ranks. The first 256 are the single bytes, one byte each. Each other token is a
// merge of two tokens, six bytes: the two ranks with 24 bits each, low byte first.
var (
	//go:embed o200k_base.bpe
	o200kData string
	//go:embed cl100k_base.bpe
	cl100kData string
)

const (
	byteTokens = 256 // tokens of one byte; they have the lowest ranks
	mergeSize  = 6   // bytes of a merged token in the file
)

// Vocabulary counts tokens. Its methods may be called concurrently.
type Vocabulary struct {
	data  string // the file
	split func(t *classes, s string, i int) (end int)

	once sync.Once
	tables
	mergers sync.Pool // of *merger
}

// tables are made from the file when the vocabulary is first used.
type tables struct {
	short   shortTable
	long    longTable
	size    []uint8 // lengths of the tokens, in bytes
	starts  starts
	classes *classes
}

var (
	o200k  = Vocabulary{data: o200kData, split: splitCased}
	cl100k = Vocabulary{data: cl100kData, split: splitPlain}
)

// O200k returns the vocabulary o200k_base.
func O200k() *Vocabulary { return &o200k }

// CL100k returns the vocabulary cl100k_base.
func CL100k() *Vocabulary { return &cl100k }

// halves returns the two tokens that merge to the token of rank r ≥ byteTokens.
func (v *Vocabulary) halves(r uint32) (left, right uint32) {
	d := v.data[byteTokens+mergeSize*(int(r)-byteTokens):][:mergeSize]
	return uint32(d[0]) | uint32(d[1])<<8 | uint32(d[2])<<16, uint32(d[3]) | uint32(d[4])<<8 | uint32(d[5])<<16
}

// load makes the tables.
func (v *Vocabulary) load() {
	n := byteTokens + (len(v.data)-byteTokens)/mergeSize
	t := &v.tables
	t.short, t.long, t.size = newShortTable(n), newLongTable(), make([]uint8, n)
	t.starts.lists = make([][]uint8, 1)
	keys := t.short.keys
	long := make(map[uint32]string)
	text := func(r uint32) string {
		if t.size[r] <= shortMax {
			return keys[r].text()
		}
		return long[r]
	}
	for r := range uint32(n) {
		if r < byteTokens {
			t.size[r] = 1
			t.short.add(key{uint64(v.data[r]), 1 << lengthShift}, r)
			continue
		}
		a, b := v.halves(r)
		t.size[r] = t.size[a] + t.size[b]
		if t.size[r] <= shortMax {
			k := keys[a].join(keys[b])
			t.short.add(k, r)
			t.starts.add(k.lo, int(t.size[r]))
			continue
		}
		long[r] = text(a) + text(b)
		t.long.add(long[r], r)
		t.starts.add(load64(long[r], 0), int(t.size[r]))
	}
	t.classes = runeClasses()
}
