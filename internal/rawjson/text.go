package rawjson

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

var (
	errString  = errors.New("not a JSON string")
	errEscape  = errors.New("invalid escape in a JSON string")
	errControl = errors.New("control character in a JSON string")
)

// texts decodes strings from bodies. Strings share pieces of memory of at most 64 KB, and no memory with the bodies. A piece is
// kept while one of its strings is in use. A large string has separate memory.
type texts struct {
	piece int
	free  []byte // len 0: the rest of the current piece, after all strings
}

const (
	maxPiece = 64 << 10
	slack    = 8 // unquote writes whole words
)

// newTexts returns a texts for strings of at most size bytes together. The zero texts uses whole pieces.
func newTexts(size int) texts { return texts{piece: min(size+slack, maxPiece)} }

// grow returns an empty slice with at least n bytes of capacity.
func (t *texts) grow(n int) []byte {
	if t.piece == 0 {
		t.piece = maxPiece
	}
	switch {
	case n <= cap(t.free):
	case n > t.piece, n > t.piece/4 && cap(t.free) > t.piece/8:
		return make([]byte, 0, n) // separate memory, not kept in use by later strings
	default:
		t.free = make([]byte, 0, t.piece)
	}
	return t.free
}

// keep makes a string of b, which grow returned and the caller filled.
func (t *texts) keep(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if unsafe.SliceData(b) == unsafe.SliceData(t.free) {
		t.free = b[len(b):]
	} // otherwise b has separate memory
	// These bytes are not written again: free begins after them.
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// Copy returns a copy of b.
func (t *texts) Copy(b []byte) string { return t.keep(append(t.grow(len(b)), b...)) }

// String decodes the string literal at span. exact is false if a part of it cannot be written as UTF-8 (half of a surrogate pair,
// invalid bytes) and was replaced by U+FFFD.
func (t *texts) String(body []byte, span Span) (text string, exact bool, err error) {
	lit := span.Of(body)
	if len(lit) < 2 || lit[0] != '"' || lit[len(lit)-1] != '"' {
		return "", false, errString
	}
	b, exact, err := unquote(t.grow(len(lit)+slack), lit[1:len(lit)-1])
	if err != nil {
		return "", false, err
	}
	return t.keep(b), exact, nil
}

// Unquote decodes one string literal, which must be all of lit.
func Unquote(lit []byte) (string, error) {
	if len(lit) < 2 || lit[0] != '"' || stringEnd(lit, 0) != len(lit) {
		return "", errString
	}
	b, _, err := unquote(make([]byte, 0, len(lit)+slack), lit[1:len(lit)-1])
	if err != nil {
		return "", err
	}
	return string(b), nil
}

// unquote decodes the inside of a string literal into dst, which is empty and has capacity for in and slack more bytes. It copies eight
// bytes at a time up to the next backslash.
func unquote(dst, in []byte) (_ []byte, exact bool, err error) {
	buf := dst[:cap(dst)]
	var seen uint64 // all bytes ORed: shows whether one was not ASCII
	exact = true
	i, o := 0, 0
	for i < len(in) {
		if i+8 <= len(in) {
			w := binary.LittleEndian.Uint64(in[i:])
			binary.LittleEndian.PutUint64(buf[o:], w)
			seen |= w
			stop := stops(w, w^ones*'\\')
			if stop == 0 {
				i, o = i+8, o+8
				continue
			}
			n := bits.TrailingZeros64(stop) / 8
			i, o = i+n, o+n
		}
		c := in[i]
		if c < 0x20 {
			return dst, false, errControl
		}
		if c != '\\' {
			buf[o] = c
			seen |= uint64(c) // the highest bit of a byte is all that counts
			i, o = i+1, o+1
			continue
		}
		if i+1 == len(in) {
			return dst, false, errEscape
		}
		if c = in[i+1]; c != 'u' {
			if c = escapes[c]; c == 0 {
				return dst, false, errEscape
			}
			buf[o] = c
			i, o = i+2, o+1
			continue
		}
		r, n := unicodeEscape(in[i+2:])
		if n == 0 {
			return dst, false, errEscape
		}
		if r < 0 {
			r, exact = utf8.RuneError, false
		}
		o += utf8.EncodeRune(buf[o:], r)
		i += 2 + n
	}
	if seen&highs != 0 && !utf8.Valid(buf[:o]) {
		// Each invalid byte becomes one rune. That takes more capacity, so dst cannot be used.
		return []byte(string([]rune(string(buf[:o])))), false, nil
	}
	return buf[:o], exact, nil
}

// escapes maps the letter of an escape to its character.
var escapes = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// unicodeEscape decodes the digits of a \u escape, and the second half of a surrogate pair if one follows. It returns the number of
// bytes used, 0 for a malformed escape, and -1 for half a pair.
func unicodeEscape(in []byte) (rune, int) {
	r := hex4(in)
	if r < 0 {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 4
	}
	if len(in) >= 10 && in[4] == '\\' && in[5] == 'u' {
		if low := hex4(in[6:]); low >= 0 {
			if full := utf16.DecodeRune(r, low); full != utf8.RuneError {
				return full, 10
			}
		}
	}
	return -1, 4
}

func hex4(in []byte) rune {
	if len(in) < 4 {
		return -1
	}
	var r rune
	for _, c := range in[:4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return -1
		}
	}
	return r
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// stops marks, with its highest bit, every byte of w that is below 0x20, and the
// lowest byte of x that is zero (higher ones may be marked wrongly).
func stops(w, x uint64) uint64 {
	// A byte below 0x20 has none of its upper three bits set: shifted and ORed, they leave the highest bit clear.
	return ((x-ones)&^x | ^(w | w<<1 | w<<2)) & highs
}
