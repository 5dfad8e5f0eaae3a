// Package invisible knows which characters a person does not see, or sees elsewhere. Screens show them as escapes, and a
// person is asked about a write of one. Both use this table.
//
// The table is made from Unicode's properties:
//
//   - Hidden characters have no glyph: control and format characters (General_Category
//     Cc, Cf, Zl, Zp; bidirectional controls and tags are in Cf), all characters with
//     the property Default_Ignorable_Code_Point (fillers, joiners, variation
//     selectors), and the few letters and symbols with a blank glyph.
//   - Blank characters take space without a visible meaning: spaces other than U+0020
//     (Zs), private characters (Co) and unassigned ones (Cn).
//   - All other characters are Plain.
//
// A hidden character counts as plain if a script or an emoji needs it and it cannot carry other information: see replace.
package invisible

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is how a character is shown.
type kind uint8

const (
	plain kind = iota
	blank
	hidden
)

// empty has characters that count as letters, marks or symbols but have an empty glyph, in addition to
// Default_Ignorable_Code_Point.
var empty = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}}, // braille pattern blank
	R32: []unicode.Range32{
		{Lo: 0x16fe4, Hi: 0x16fe4, Stride: 1}, // Khitan small script filler
		{Lo: 0x1d159, Hi: 0x1d159, Stride: 1}, // musical symbol null notehead
	},
}

// Plain reports whether a single character is visible.
func Plain(r rune) bool { return of(r) == plain }

// of returns the kind of a single character. Tabs and line ends are hidden.
func of(r rune) kind {
	switch {
	case r >= ' ' && r <= '~':
		return plain
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, empty):
		return hidden
	case !unicode.IsPrint(r):
		return blank
	}
	return plain
}

// SkipMark returns a text or a file in UTF-8 without the byte-order mark that it may begin with.
func SkipMark[T ~string | ~[]byte](text T) T {
	const mark = "\ufeff"
	if len(text) >= len(mark) && string(text[:len(mark)]) == mark {
		return text[len(mark):]
	}
	return text
}

// SkipMarkIn returns a reader of r without the byte-order mark.
func SkipMarkIn(r io.Reader) io.Reader { return &unmarked{r: r} }

type unmarked struct {
	r  io.Reader
	in *bufio.Reader // nil: nothing was read
}

func (u *unmarked) Read(p []byte) (int, error) {
	if u.in == nil {
		u.in = bufio.NewReader(u.r)
		head, _ := u.in.Peek(len("\ufeff")) // an error comes again
		_, _ = u.in.Discard(len(head) - len(SkipMark(head)))
	}
	return u.in.Read(p)
}

// Has reports whether a text contains something that a reader does not see. Tabs, form feeds and line ends do not count; bytes that
// are not UTF-8 do.
func Has(text string) bool {
	found := false
	walk(text, func(at int, raw string, k kind) {
		switch raw {
		case "\t", "\n", "\f":
			return
		case "\r":
			if strings.HasPrefix(text[at+1:], "\n") {
				return
			}
		}
		found = found || k == hidden
	})
	return found
}

// HasName reports the same for a name, in which tabs and line ends count, too.
func HasName(name string) bool {
	found := false
	walk(name, func(_ int, _ string, k kind) { found = found || k == hidden })
	return found
}

// Coded returns s with the number of a character in place of every one that could deceive a reader. It keeps spaces, and the characters of keep.
func Coded(s, keep string) string {
	return replace(s, func(raw string) string {
		c, _ := utf8.DecodeRuneInString(raw)
		if strings.ContainsRune(keep, c) || unicode.Is(unicode.Zs, c) {
			return raw
		}
		return fmt.Sprintf("<U+%04X>", c)
	})
}

// replace returns s with every character that is not Plain replaced by f(raw); raw is one character, or one byte that is not UTF-8.
// Some characters stay, because a reader sees their effect:
//
//   - one variation selector 15 or 16 after an emoji or a symbol, or in a keycap,
//   - a zero-width joiner between two emoji,
//   - a zero-width joiner or non-joiner between two letters or marks of a script
//     that is written with them.
func replace(s string, f func(raw string) string) string {
	var b strings.Builder
	done := 0
	walk(s, func(at int, raw string, _ kind) {
		b.WriteString(s[done:at])
		b.WriteString(f(raw))
		done = at + len(raw)
	})
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// Escape returns s on one line, with every character that is not Plain as an escape; tabs stay. The result cannot contain terminal
// control sequences. mark adds text around each escape; it may be nil.
func Escape(s string, mark func(string) string) string {
	return replace(s, func(raw string) string {
		switch {
		case raw == "\t":
			return raw
		case mark == nil:
			return escape(raw)
		}
		return mark(escape(raw))
	})
}

// Quote is strconv.Quote without characters that are not Plain.
func Quote(s string) string { return Escape(strconv.Quote(s), nil) }

func escape(raw string) string {
	r, n := utf8.DecodeRuneInString(raw)
	switch {
	case r == utf8.RuneError && n == 1, r < 0x80 && r != '\r' && r != '\n':
		return fmt.Sprintf(`\x%02x`, raw[0])
	case r == '\r':
		return `\r`
	case r == '\n':
		return `\n`
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// walk calls f for each character of s that is not Plain at its place.
func walk(s string, f func(at int, raw string, k kind)) {
	for at := 0; at < len(s); {
		if c := s[at]; c >= ' ' && c <= '~' {
			at++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[at:])
		k := of(r)
		if r == utf8.RuneError && n == 1 {
			k = hidden
		}
		if k != plain && !needed(s[:at], r, s[at+n:]) {
			f(at, s[at:at+n], k)
		}
		at += n
	}
}
