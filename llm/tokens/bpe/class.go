package bpe

import (
	_ "embed" // the classes
	"encoding/binary"
	"math/bits"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Classes of characters, as bits, in the terms of the vocabularies' regular expressions. A letter without case is both upper and
// lower, and so is a mark, which is not a letter. A character without a bit is punctuation, a symbol or a control character.
const (
	upper     = 1 << iota // [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
	lower                 // [\p{Ll}\p{Lm}\p{Lo}\p{M}]
	letter                // \p{L}
	number                // \p{N}
	space                 // \s
	lineBreak             // [\r\n], which are white space as well
	wide                  // of a byte: part of a non-ASCII character
)

// unicodeRuns has the classes of all characters, from 0 on, as runs: the length (an unsigned varint), and the class.
//
//go:embed unicode.runs
var unicodeRuns []byte

// classes has the bits of all characters. Those of code c are pages[index[c>>8]][c&0xff].
type classes struct {
	bytes [256]uint8 // classes of ASCII; wide for the others
	index [unicode.MaxRune>>8 + 1]uint16
	pages [][256]uint8
}

// runeClasses makes the classes once.
var runeClasses = sync.OnceValue(func() *classes {
	t := &classes{pages: make([][256]uint8, 1, 512)} // the first one is empty
	c := 0
	for runs := unicodeRuns; len(runs) > 0; {
		n, size := binary.Uvarint(runs)
		t.fill(c, int(n), runs[size])
		c += int(n)
		runs = runs[size+1:]
	}
	t.bytes = t.pages[t.index[0]]
	for b := utf8.RuneSelf; b < len(t.bytes); b++ {
		t.bytes[b] = wide
	}
	return t
})

// fill sets the class of n characters from c on.
func (t *classes) fill(c, n int, class uint8) {
	for end := c + n; class != 0 && c < end; c++ {
		page := &t.index[c>>8]
		if *page == 0 {
			*page = uint16(len(t.pages))
			t.pages = append(t.pages, [256]uint8{})
		}
		t.pages[*page][c&0xff] = class
	}
}

// at returns the class and the size in bytes of the character at s[i]. A byte of invalid UTF-8 is a character without a bit.
func (t *classes) at(s string, i int) (class uint8, size int) {
	if class := t.bytes[s[i]]; class != wide {
		return class, 1
	}
	return t.decode(s, i)
}

func (t *classes) decode(s string, i int) (class uint8, size int) {
	c, size := utf8.DecodeRuneInString(s[i:])
	if size == 1 {
		return 0, 1
	}
	return t.pages[t.index[c>>8]][c&0xff], size
}

// run returns the end of the characters from s[i] on that have a bit of mask.
func (t *classes) run(s string, i int, mask uint8) int {
	for i < len(s) {
		class, size := t.at(s, i)
		if class&mask == 0 {
			break
		}
		i += size
	}
	return i
}

// leading returns where the word begins if the ASCII character s[i] may lead it.
func (t *classes) leading(s string, i int) int {
	if t.bytes[s[i]]&^space == 0 {
		return i + 1
	}
	return i
}

// lowers returns the end of the ASCII letters from s[i] on: only lower-case letters, or all letters if bit is 0x20, the bit in
// which the cases differ. It checks eight bytes at a time: the addition carries into the top bit of a byte that is at least 'a', or
// above 'z'.
func lowers(s string, i int, bit uint64) int {
	const ones = 0x0101010101010101
	for ; i+8 <= len(s); i += 8 {
		word := load64(s, i)
		low := word&(0x7f*ones) | bit*ones
		are := (low + (0x80-'a')*ones) &^ (low + (0x7f-'z')*ones) &^ word & (0x80 * ones)
		if are != 0x80*ones {
			return i + bits.TrailingZeros64(are^0x80*ones)/8
		}
	}
	for i < len(s) && (s[i]|byte(bit))-'a' < 26 {
		i++
	}
	return i
}
