// Package rawjson finds spans in a JSON body and replaces strings there. Every other byte stays.
//
// A [Scanner] walks a body without allocating. It checks the structure of everything that it passes: brackets, commas, colons,
// literals, numbers, depth. It does not check the inside of strings; [Decoder] and [Unquote] check the strings that they decode. So
// a body that was walked and whose strings were all decoded is valid JSON, and a valid body stays valid with the strings of
// [AppendPatched].
package rawjson

import (
	"errors"
	"fmt"

	"github.com/stet-dev/stet/internal/invisible"
)

// maxDepth is the limit of nested arrays and objects.
const maxDepth = 512

// Span is a range of bytes, [Start, End). The span of a value has no space around it; the span of a string includes its quotes.
type Span struct{ Start, End int }

// size is the number of bytes in s.
func (s Span) size() int { return s.End - s.Start }

// IsZero reports whether s is the zero Span, which means no value.
func (s Span) IsZero() bool { return s == Span{} }

// Of returns the bytes of s in body; nil for the zero Span.
func (s Span) Of(body []byte) []byte {
	if s.IsZero() {
		return nil
	}
	return body[s.Start:s.End]
}

// Kind is the kind of a value, named by its first byte: '{', '[', '"', 't' and 'f' (true, false), 'n' (null), '0' (any number). 0
// means no value.
type Kind byte

// KindOf returns the kind of the value at s. The zero Span has kind 0.
func (s Span) KindOf(body []byte) Kind {
	if s.Start >= s.End || s.End > len(body) {
		return 0
	}
	return kindOf(body[s.Start])
}

func kindOf(c byte) Kind {
	switch c {
	case '{', '[', '"', 't', 'f', 'n':
		return Kind(c)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return '0'
	}
	return 0
}

var (
	errSyntax    = errors.New("invalid JSON")
	errEnd       = errors.New("unexpected end of JSON")
	errDepth     = errors.New("JSON nested too deep")
	errKind      = errors.New("JSON value of another kind")
	errKey       = errors.New("JSON key written with escapes")
	errDuplicate = errors.New("duplicate JSON key")
	errTrailing  = errors.New("data after the JSON value")
)

// Scanner is a cursor in a JSON body. After the first error every method returns nothing more, and Err returns the error. The zero
// Scanner is at the start of an empty body.
//
// A value is consumed by Skip, or by Enter and as many Next as there are
// members:
//
//	for s.Enter('{'); s.Next(); {
//		switch string(s.Key()) {
//		case "name":
//			name = s.Skip()
//		default:
//			s.Skip()
//		}
//	}
type Scanner struct {
	body  []byte
	pos   int
	key   Span // without quotes
	err   error
	depth int
	fresh bool                  // just entered: no comma before the next member
	kinds [maxDepth / 64]uint64 // bit d: the container at depth d is an object
}

// At returns a Scanner of the value at span in body, which must outlive it.
func At(body []byte, span Span) Scanner {
	return Scanner{body: body[:span.End], pos: span.Start}
}

// New returns a Scanner of the whole body. It skips a byte-order mark.
func New(body []byte) Scanner {
	return Scanner{body: body, pos: len(body) - len(invisible.SkipMark(body))}
}

// Err is the first error, with its offset in the body.
func (s *Scanner) Err() error { return s.err }

func (s *Scanner) fail(err error, at int) {
	if s.err == nil {
		s.err = fmt.Errorf("byte %d: %w", at, err)
	}
	s.pos = len(s.body)
	s.depth = 0
}

// space moves over white space and returns the byte there, 0 at the end.
func (s *Scanner) space() byte {
	for s.pos < len(s.body) {
		c := s.body[s.pos]
		if c > ' ' || c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c
		}
		s.pos++
	}
	return 0
}

// Kind returns the kind of the next value without consuming it.
func (s *Scanner) Kind() Kind {
	if s.err != nil {
		return 0
	}
	return kindOf(s.space())
}

// Enter begins the next value, which must be an object ('{') or array ('[').
func (s *Scanner) Enter(k Kind) {
	if s.err != nil {
		return
	}
	if c := s.space(); Kind(c) != k || k != '{' && k != '[' {
		if s.pos >= len(s.body) {
			s.fail(errEnd, s.pos)
		} else {
			s.fail(errKind, s.pos)
		}
		return
	}
	if s.depth >= maxDepth-1 {
		s.fail(errDepth, s.pos)
		return
	}
	s.pos++
	s.depth++
	bit := uint64(1) << (s.depth & 63)
	if k == '{' {
		s.kinds[s.depth>>6] |= bit
	} else {
		s.kinds[s.depth>>6] &^= bit
	}
	s.fresh = true
}

// Next moves to the next member of the object or array entered last, and
// returns false at its end, which it consumes. The member's value must be
// consumed before the next call.
func (s *Scanner) Next() bool {
	if s.err != nil || s.depth == 0 {
		return false
	}
	object := s.kinds[s.depth>>6]>>(s.depth&63)&1 == 1
	closing := byte(']')
	if object {
		closing = '}'
	}
	c := s.space()
	switch {
	case c == closing:
		s.pos++
		s.depth--
		s.fresh = false
		return false
	case s.fresh:
		s.fresh = false
	case c == ',':
		s.pos++
		c = s.space()
	default:
		s.fail(s.missing(), s.pos)
		return false
	}
	if !object {
		return true
	}
	if c != '"' {
		s.fail(s.missing(), s.pos)
		return false
	}
	end := stringEnd(s.body, s.pos)
	if end < 0 {
		s.fail(errEnd, len(s.body))
		return false
	}
	s.key = Span{s.pos + 1, end - 1}
	s.pos = end
	if s.space() != ':' {
		s.fail(s.missing(), s.pos)
		return false
	}
	s.pos++
	return true
}

func (s *Scanner) missing() error {
	if s.pos >= len(s.body) {
		return errEnd
	}
	return errSyntax
}

// Key returns the current member's raw key, without quotes. A key with escapes is an error, because it could equal a key that the
// caller looks for.
func (s *Scanner) Key() []byte {
	if s.err != nil {
		return nil
	}
	k := s.key.Of(s.body)
	for _, c := range k {
		if c == '\\' {
			s.fail(errKey, s.key.Start)
			return nil
		}
	}
	return k
}

// Skip consumes the next value and returns its span, zero after an error.
func (s *Scanner) Skip() Span {
	if s.err != nil {
		return Span{}
	}
	s.fresh = false
	s.space()
	start := s.pos
	end, err := skip(s.body, start, s.depth)
	if err != nil {
		s.fail(err, end)
		return Span{}
	}
	s.pos = end
	return Span{start, end}
}

// Take is Skip for a value that may occur only once: it stores the value's span in *at, and fails if *at is set already. A null is
// consumed, but leaves *at zero.
func (s *Scanner) Take(at *Span) {
	if !at.IsZero() {
		s.fail(errDuplicate, s.key.Start)
		return
	}
	if v := s.Skip(); v.KindOf(s.body) != 'n' {
		*at = v
	}
}

// takeOne consumes the value of the current member. If its key is keys[i],
// the value's span goes to at[i] as by Take.
func (s *Scanner) takeOne(keys []string, at []Span) {
	if i := index(keys, s.Key()); i >= 0 {
		s.Take(&at[i])
	} else {
		s.Skip()
	}
}

// Object consumes the object that is next and takes from it the values of
// keys, as takeOne does. It returns the object's span, zero after an error.
func (s *Scanner) Object(keys []string, at []Span) Span {
	s.Enter('{')
	start := s.pos - 1
	for s.Next() {
		s.takeOne(keys, at)
	}
	if s.err != nil {
		return Span{}
	}
	return Span{start, s.pos}
}

func index(keys []string, key []byte) int {
	for i, k := range keys {
		if len(k) == len(key) && k == string(key) {
			return i
		}
	}
	return -1
}

// End reports an error unless only white space is left.
func (s *Scanner) End() error {
	if s.err == nil && s.space() != 0 {
		s.fail(errTrailing, s.pos)
	} else if s.err == nil && s.pos < len(s.body) {
		s.fail(errSyntax, s.pos) // a NUL byte
	}
	return s.err
}
