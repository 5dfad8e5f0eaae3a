package bpe

import (
	"math"
	"math/bits"
)

// merger finds the tokens of pieces that are not tokens themselves.
type merger struct {
	tokens []uint32
	dead   []uint64 // one bit for each place of the piece: two tokens cannot meet there

	// Caches by hash, because texts repeat. For a short piece: its number of tokens, stored above the length in its key. For a pair
	// of tokens: whether they are neighbours. The zero slot of pairs says that token 0 is not its own neighbour, which is correct:
	// "!!" is a token.
	pieces [1 << 12]key
	pairs  [1 << 12]uint64
}

// countShift is the position of the number of tokens in key.hi, above the length.
const countShift = lengthShift + 4

// countMerged returns the number of tokens of s[from:to], which is not a token itself. k is its key if it is short.
func (v *Vocabulary) countMerged(m *merger, k key, s string, from, to int) int {
	if k.hi == 0 {
		return len(v.merge(m, s, from, to))
	}
	slot := &m.pieces[hash(k.lo, k.hi)%uint64(len(m.pieces))]
	if slot.lo != k.lo || slot.hi&(1<<countShift-1) != k.hi {
		n := len(v.merge(m, s, from, to))
		*slot = key{k.lo, k.hi | uint64(n)<<countShift}
	}
	return int(slot.hi >> countShift)
}

// merge returns the tokens of s[from:to]. The slice is valid until m is used again.
//
// A property of byte-pair encoding makes this linear: a sequence of tokens is the encoding of its text exactly if each two
// neighbours are the encoding of their text. So tokens are placed from left to right, the longest first, and each is checked
// against the one before it. A place at which no token fits is marked dead: the token before it is removed, and the next shorter
// one is tried.
func (v *Vocabulary) merge(m *merger, s string, from, to int) []uint32 {
	m.tokens = m.tokens[:0]
	words := (to-from)/64 + 2 // one more word, for deadFrom
	if cap(m.dead) < words {
		m.dead = make([]uint64, words)
	}
	m.dead = m.dead[:words]
	clear(m.dead)
	at, limit := from, to-from
	for at < to {
		rank, n := v.longest(m, s, from, at, limit)
		if n == 0 { // go one token back
			last := len(m.tokens) - 1
			m.dead[(at-from)/64] |= 1 << ((at - from) % 64)
			limit = int(v.size[m.tokens[last]])
			at -= limit
			m.tokens = m.tokens[:last]
			limit--
			continue
		}
		if len(m.tokens) > 0 && !v.meet(m, s, at, m.tokens[len(m.tokens)-1], rank) {
			limit = n - 1
			continue
		}
		m.tokens = append(m.tokens, rank)
		at += n
		limit = to - at
	}
	return m.tokens
}

// meet is neighbours with a cache.
func (v *Vocabulary) meet(m *merger, s string, at int, left, right uint32) bool {
	pair := uint64(left)<<32 | uint64(right)<<1
	slot := &m.pairs[pair*0x9e3779b97f4a7c15>>52]
	if *slot&^1 != pair {
		*slot = pair
		if v.neighbours(s, at, left, right) {
			*slot |= 1
		}
	}
	return *slot&1 != 0
}

// deadFrom returns which of the 64 places from the piece's byte i on are dead,
// the first one lowest.
func (m *merger) deadFrom(i int) uint64 {
	return m.dead[i/64]>>(i%64) | m.dead[i/64+1]<<(64-i%64) // a shift by 64 is 0
}

// longest returns the longest token of at most limit bytes that is a prefix of s[at:] and does not end at a dead place, and its
// length; 0 if there is none. The piece begins at s[from].
func (v *Vocabulary) longest(m *merger, s string, from, at, limit int) (rank uint32, n int) {
	dead := m.deadFrom(at - from)
	lo, hi := window(s, at)
	if limit >= 3 {
		slot := v.starts.slot(lo)
		lengths := v.starts.lengths[slot]
		if lengths>>31 != 0 && limit > startMax {
			for _, l := range v.starts.lists[v.starts.longer[slot]] {
				if n := int(l); n <= limit && m.deadFrom(at-from+n)&1 == 0 {
					if rank, ok := v.long.find(s[at : at+n]); ok {
						return rank, n
					}
				}
			}
		}
		lengths &= (1<<min(limit-2, 31) - 1) &^ uint32(dead>>3) // of 3 to limit bytes
		for lengths != 0 {
			bit := bits.Len32(lengths) - 1
			lengths &^= 1 << bit
			n := bit + 3
			if n <= shortMax {
				if rank, ok := v.short.find(keyOf(lo, hi, n)); ok {
					return rank, n
				}
			} else if rank, ok := v.long.find(s[at : at+n]); ok {
				return rank, n
			}
		}
	}
	for n := min(limit, 2); n > 0; n-- {
		if dead>>n&1 == 0 {
			if rank, ok := v.short.find(keyOf(lo, hi, n)); ok {
				return rank, n
			}
		}
	}
	return 0, 0
}

// neighbours reports whether byte-pair encoding keeps the tokens left and right of s, which meet at s[at], instead of merging
// something across that place. It undoes the merges of both, the latest first. At each step, the two parts that meet must not be a
// pair that would have been merged earlier.
func (v *Vocabulary) neighbours(s string, at int, left, right uint32) bool {
	before := uint32(math.MaxUint32) // a pair across the place must not have been merged before this rank
	for {
		if rank, ok := v.find(s, at-int(v.size[left]), at+int(v.size[right])); ok && rank < before {
			return false
		}
		switch {
		case max(left, right) < byteTokens:
			return true
		case left > right:
			before = left
			_, left = v.halves(left)
		default:
			before = right + 1
			right, _ = v.halves(right)
		}
	}
}

// find returns the rank of s[i:end], if it is a token.
func (v *Vocabulary) find(s string, i, end int) (rank uint32, ok bool) {
	if n := end - i; n <= shortMax {
		lo, hi := window(s, i)
		return v.short.find(keyOf(lo, hi, n))
	}
	return v.long.find(s[i:end])
}
