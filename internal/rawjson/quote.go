package rawjson

import (
	"encoding/binary"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendQuoted appends text as a JSON string literal. It is valid JSON for any text: bytes that are not UTF-8 become U+FFFD. Only
// necessary escapes are used.
func appendQuoted(dst []byte, text string) []byte {
	return append(AppendText(append(dst, '"'), text), '"')
}

// AppendText appends the inside of a JSON string literal of text. A text may be appended in pieces that end with whole characters.
func AppendText(dst []byte, text string) []byte {
	for len(text) > 0 {
		n := plain(text)
		dst = append(dst, text[:n]...)
		text = text[n:]
		if len(text) == 0 {
			break
		}
		switch c := text[0]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
			text = text[1:]
		case c == '\n':
			dst = append(dst, '\\', 'n')
			text = text[1:]
		case c == '\t':
			dst = append(dst, '\\', 't')
			text = text[1:]
		case c == '\r':
			dst = append(dst, '\\', 'r')
			text = text[1:]
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			text = text[1:]
		default:
			// AppendRune writes U+FFFD for what DecodeRune cannot read.
			r, size := utf8.DecodeRuneInString(text)
			dst = utf8.AppendRune(dst, r)
			text = text[size:]
		}
	}
	return dst
}

// WholeRunes returns how many bytes of b are whole characters: the start of a character that continues after b does not count.
func WholeRunes(b []byte) int {
	for i := 1; i <= min(len(b), utf8.UTFMax-1); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return len(b) - i
			}
			break
		}
	}
	return len(b)
}

// plain returns the number of bytes at the beginning of text that can be copied: ASCII without quotes, backslashes and control
// characters.
func plain(text string) int {
	i := 0
	for ; i+8 <= len(text); i += 8 {
		w := binary.LittleEndian.Uint64([]byte(text[i : i+8]))
		quote, back := w^(ones*'"'), w^(ones*'\\')
		if stops(w, back)|((quote-ones)&^quote|w)&highs != 0 {
			break
		}
	}
	for ; i < len(text); i++ {
		if c := text[i]; c < 0x20 || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			break
		}
	}
	return i
}
