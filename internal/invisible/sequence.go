package invisible

import (
	"unicode"
	"unicode/utf8"
)

const (
	textStyle  = 0xfe0e // variation selector 15
	emojiStyle = 0xfe0f // variation selector 16
	nonJoiner  = 0x200c
	joiner     = 0x200d
	keycap     = 0x20e3
)

// needed reports whether r, which has no glyph, has its intended effect between before and after.
func needed(before string, r rune, after string) bool {
	last, n := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	switch r {
	case textStyle:
		return symbol(last)
	case emojiStyle:
		return symbol(last) || next == keycap && (last >= '0' && last <= '9' || last == '#' || last == '*')
	case joiner, nonJoiner:
		if joined(last) && joined(next) {
			return true
		}
		if last == emojiStyle {
			last, _ = utf8.DecodeLastRuneInString(before[:len(before)-n])
		}
		return r == joiner && (symbol(last) || tone(last)) && symbol(next)
	}
	return false
}

// symbol reports whether r can be an emoji, or a symbol with two styles: General_Category So, and these few.
func symbol(r rune) bool {
	switch r {
	case 0x203c, 0x2049, 0x2194, 0x25fb, 0x25fc, 0x25fd, 0x25fe, 0x3030:
		return true
	}
	return unicode.Is(unicode.So, r) && of(r) == plain && r != utf8.RuneError
}

// tone reports whether r is an emoji skin tone.
func tone(r rune) bool { return r >= 0x1f3fb && r <= 0x1f3ff }

// joining are the scripts in which joiners change how letters look.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko,
	unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu,
	unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar,
}

func joined(r rune) bool {
	return r >= 0x600 && unicode.In(r, unicode.L, unicode.M) && unicode.In(r, joining...) && of(r) == plain
}
