package tui

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible returns s with everything in it that does not print, or that moves
// or hides what does, as an escape. Tabs stay. What it returns cannot speak to
// a terminal. mark is put around each escape.
func visible(s string, mark func(string) string) string {
	plain := strings.IndexFunc(s, hidden) < 0 && utf8.ValidString(s)
	if plain {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteString(mark(fmt.Sprintf(`\x%02x`, s[i])))
		case !hidden(r):
			b.WriteString(s[i : i+n])
		case r == '\r':
			b.WriteString(mark(`\r`))
		case r == '\n':
			b.WriteString(mark(`\n`))
		case r < 0x80:
			b.WriteString(mark(fmt.Sprintf(`\x%02x`, r)))
		case r < 0x10000:
			b.WriteString(mark(fmt.Sprintf(`\u%04x`, r)))
		default:
			b.WriteString(mark(fmt.Sprintf(`\U%08x`, r)))
		}
		i += n
	}
	return b.String()
}

// blanks print, or count as printing, and yet show nothing.
var blanks = []rune{0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xffa0}

// hidden reports whether r is to be shown as an escape: control and format
// characters (the bidirectional ones among them), separators but the space,
// variation selectors, blanks, and what is not assigned.
func hidden(r rune) bool {
	if r == '\t' || r >= ' ' && r <= '~' {
		return false
	}
	if !unicode.IsPrint(r) || unicode.Is(unicode.Variation_Selector, r) {
		return true
	}
	for _, b := range blanks {
		if r == b {
			return true
		}
	}
	return false
}
