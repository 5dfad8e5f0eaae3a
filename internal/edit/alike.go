package edit

import (
	"bytes"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// repairs undo mistakes in the whole old text. They are tried in order.
var repairs = []struct {
	why string
	fix func(string) string
}{
	{"the old text has CRLF line ends, the file LF", unify},
	{"the old text has line numbers", withoutNumbers},
	{`the old text has \n, \t or \" as two characters`, strings.NewReplacer(`\r\n`, "\n", `\n`, "\n", `\t`, "\t", `\"`, `"`).Replace},
	{"the old text has line ends around it", func(s string) string { return strings.Trim(s, "\r\n") }},
}

// withoutNumbers removes the line number, and the sign after it, from every line. If a
// line has none the text stays as it is.
func withoutNumbers(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		rest := strings.TrimLeft(line, " ")
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if digits == 0 {
			return s
		}
		rest = rest[digits:]
		cut := false
		for _, sign := range []string{" | ", " |", "| ", "|", "\t", "→", ": ", ":"} {
			if rest, cut = strings.CutPrefix(rest, sign); cut {
				break
			}
		}
		if !cut {
			return s
		}
		b.WriteString(rest)
	}
	return b.String()
}

// difference describes how a line of the old text differs from a line of the file. fits may compare only a part of the file's line.
func difference(have, want string, fits func(have, want string) bool) string {
	for _, l := range lenses {
		if fits(l.see(have), l.see(want)) {
			return l.why
		}
	}
	return "other text"
}

// lenses each ignore one kind of difference; the last one ignores all of them.
var lenses = []struct {
	why string
	see func(string) string
}{
	{"trailing space", func(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) }},
	{"tabs or spaces", func(s string) string { return strings.Join(strings.Fields(strings.ReplaceAll(s, "\t", " ")), " ") }},
	{"spaces", func(s string) string { return strings.Join(strings.Fields(s), "") }},
	{"quotes", func(s string) string { return strings.Map(func(r rune) rune { return sameQuote(r) }, s) }},
	{"dashes", func(s string) string { return strings.Map(func(r rune) rune { return sameDash(r) }, s) }},
	{"letter case", strings.ToLower},
	{"composed or decomposed characters", norm.NFC.String},
	{"wide or other forms of characters", norm.NFKC.String},
	{"letters of another alphabet that look the same", latin.Replace},
	{"invisible characters", func(s string) string {
		return strings.Map(func(r rune) rune {
			if invisible(r) {
				return -1
			}
			return r
		}, s)
	}},
	{"spaces, quotes, dashes, letter case or forms of characters", func(s string) string { return string(appendKey(nil, []byte(s))) }},
}

// latin replaces the letters of Greek and Cyrillic that look like Latin ones.
var latin = strings.NewReplacer(strings.Split("ΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXοoνvАAВBЕEКKМMНHОOРPСCТTУYХXІIЈJЅSаaеeоoрpсcуyхxіiјjѕs", "")...)

// appendKey appends a line to dst without letter case, spaces, the kinds of quotes and dashes, and with one form of characters that
// look alike.
func appendKey(dst, line []byte) []byte {
	if !ascii(line) {
		line = []byte(latin.Replace(norm.NFKC.String(string(line))))
	}
	for i := 0; i < len(line); {
		c := line[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case c == ' ' || '\t' <= c && c <= '\r':
			case c == '"' || c == '`':
				dst = append(dst, '\'')
			case 'A' <= c && c <= 'Z':
				dst = append(dst, c|0x20)
			default:
				dst = append(dst, c)
			}
			continue
		}
		r, n := utf8.DecodeRune(line[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, c)
		} else if !unicode.IsSpace(r) && !invisible(r) {
			dst = utf8.AppendRune(dst, unicode.ToLower(sameDash(sameQuote(r))))
		}
		i += n
	}
	return dst
}

func sameQuote(r rune) rune {
	switch r {
	case '"', '`', '´', '‘', '’', '‚', '‛', '“', '”', '„', '‟', '«', '»', '‹', '›', '′', '″':
		return '\''
	}
	return r
}

func sameDash(r rune) rune {
	switch r {
	case '‐', '‑', '‒', '–', '—', '―', '−':
		return '-'
	}
	return r
}

func ascii(line []byte) bool {
	return bytes.IndexFunc(line, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

func invisible(r rune) bool { return unicode.Is(unicode.Cf, r) }

// sketch is an approximate set of the byte pairs in a key.
type sketch [4]uint64

// maxSketch is the number of a key's bytes that are used.
const maxSketch = 400

func newSketch(key []byte) sketch {
	var s sketch
	for i := 1; i < min(len(key), maxSketch); i++ {
		h := (uint32(key[i-1])<<8 | uint32(key[i])) * 0x9e3779b1 >> 24
		s[h>>6] |= 1 << (h & 63)
	}
	return s
}

// like returns the share of common pairs, 0 to 1.
func (s sketch) like(o sketch) float64 {
	both, all := 0, 0
	for i := range s {
		both += bits.OnesCount64(s[i] & o[i])
		all += bits.OnesCount64(s[i]) + bits.OnesCount64(o[i])
	}
	if all == 0 {
		return 0
	}
	return 2 * float64(both) / float64(all)
}
