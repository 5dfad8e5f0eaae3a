package bpe

import "math/bits"

// shortMax is the largest length, in bytes, of a token whose bytes fit into a key.
const shortMax = 15

// lengthShift is the position of the length in key.hi.
const lengthShift = 56

// key has a text of 1 to shortMax bytes: eight bytes in lo and seven in hi, the first byte lowest, and the length above them. The
// zero key means none.
type key struct{ lo, hi uint64 }

// load64 returns the eight bytes of s from i on, the first one lowest.
func load64(s string, i int) uint64 {
	b := s[i : i+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// window returns the 16 bytes of s from i on, as two words. Bytes after the end of s are zero.
func window(s string, i int) (lo, hi uint64) {
	if i+16 <= len(s) {
		return load64(s, i), load64(s, i+8)
	}
	return tail64(s, i), tail64(s, i+8)
}

// tail64 is load64 if s may end before i+8 or before i.
func tail64(s string, i int) (word uint64) {
	switch n := len(s) - i; {
	case n >= 8:
		return load64(s, i)
	case n <= 0:
		return 0
	case len(s) >= 8:
		return load64(s, len(s)-8) >> (8 * (8 - n))
	}
	for n := len(s) - 1; n >= i; n-- {
		word = word<<8 | uint64(s[n])
	}
	return word
}

// below holds masks for the first n bytes of two words.
var below = func() (m [shortMax + 1]key) {
	for n := range m {
		m[n].lo = 1<<(8*min(n, 8)) - 1
		m[n].hi = 1<<(8*max(n-8, 0)) - 1
	}
	return m
}()

// keyOf returns the key of the first n bytes of a window, 0 < n ≤ shortMax.
func keyOf(lo, hi uint64, n int) key {
	m := &below[n&15]
	return key{lo & m.lo, hi&m.hi | uint64(n)<<lengthShift}
}

// join returns the key of k's text followed by o's. Together they must be short.
func (k key) join(o key) key {
	n := 8 * uint(k.len())
	bytes := o.hi &^ (0xff << lengthShift)
	out := key{k.lo | o.lo<<n, k.hi + o.hi&(0xff<<lengthShift)} // a shift by 64 or more is 0
	if n < 64 {
		out.hi |= bytes<<n | o.lo>>(64-n)
	} else {
		out.hi |= o.lo << (n - 64)
	}
	return out
}

func (k key) len() int { return int(k.hi >> lengthShift) }

// text returns the text of k.
func (k key) text() string {
	var b [shortMax]byte
	for i := range b {
		if i < 8 {
			b[i] = byte(k.lo >> (8 * i))
		} else {
			b[i] = byte(k.hi >> (8 * (i - 8)))
		}
	}
	return string(b[:k.len()])
}

// hash mixes two words.
func hash(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xd6e8feb86659fd93)
	return hi ^ lo
}
