package tokens

import (
	"unicode"
	"unicode/utf8"
)

// The estimate splits a text into pieces in a similar way as byte-pair tokenizers: a word with the one character before it, up to
// three digits, a run of punctuation with the following line ends, a run of white space. The kind of a piece, the character before
// it and its length select a cell of the table. The cell has the average number of tokens of such pieces.

// Kinds of pieces.
const (
	wordLower = iota // foo
	wordCap          // Foo
	wordUpper        // FOO
	wordMixed        // FOOBar, and fooBar where the vocabulary does not cut there
	wordLatin        // with letters beyond ASCII
	wordCyrillic
	wordHan
	wordKana
	wordHangul
	wordOther // Greek, Arabic, Devanagari, …; length in bytes
	punctMixed
	punctSame   // one character repeated
	punctBreak  // punctuation and the line ends that follow it
	spaceRun    // blanks, none of them a line end
	tabRun      // the same, beginning with a tab
	breakRun    // blanks that end with a line end
	symbolBMP   // arrows, box drawing, …: one
	symbolWide  // full-width and CJK punctuation: one
	symbolEmoji // beyond the basic plane: one
	invalid     // a byte of invalid UTF-8
	kinds
)

// The character before a word, or before punctuation.
const (
	leadNone = iota
	leadSpace
	leadOther // an ASCII mark or a tab
	leadHigh  // a mark beyond ASCII
	leads
)

// lengths is the number of length cells, for lengths 0..lengths-1.
const lengths = 33

// maxWord and maxRun limit the pieces: longer ones are cut, so that added text changes the count of the earlier text only a little.
const (
	maxWord = lengths - 1
	maxRun  = 64
)

const cells = kinds * leads * lengths

func cell(kind, lead, length int) int { return (kind*leads+lead)*lengths + length }

// runLength maps the length of a run, up to maxRun, to the length cells: exact up to 16, then in steps of four.
func runLength(n int) int {
	if n <= 16 {
		return n
	}
	return min(16+(n-13)/4, lengths-1)
}

// Classes of bytes.
const (
	cMark = iota
	cLower
	cUpper
	cDigit
	cSpace // the space
	cBlank // tab, vertical tab, form feed
	cBreak // carriage return, line feed
	cHigh  // part of a non-ASCII character
)

var class = func() (t [256]uint8) {
	for b := range t {
		switch {
		case b >= 0x80:
			t[b] = cHigh
		case b >= 'a' && b <= 'z':
			t[b] = cLower
		case b >= 'A' && b <= 'Z':
			t[b] = cUpper
		case b >= '0' && b <= '9':
			t[b] = cDigit
		case b == ' ':
			t[b] = cSpace
		case b == '\t' || b == '\v' || b == '\f':
			t[b] = cBlank
		case b == '\r' || b == '\n':
			t[b] = cBreak
		}
	}
	return t
}()

// scanner splits a text. humps says that the vocabulary splits words at a capital after a small letter.
type scanner struct {
	s     string
	humps bool
}

// next returns the cell of the piece at s[i:] and where it ends. i < len(s).
// Digits have no cell: a run of three or fewer is one token (-1).
func (sc *scanner) next(i int) (c, end int) {
	s := sc.s
	switch class[s[i]] {
	case cLower, cUpper:
		return sc.word(i, leadNone)
	case cSpace:
		if i+1 < len(s) {
			switch class[s[i+1]] {
			case cLower, cUpper:
				return sc.word(i+1, leadSpace)
			case cMark:
				return sc.marks(i+1, leadSpace)
			case cDigit:
				return cell(spaceRun, 0, 1), i + 1
			case cHigh:
				return sc.high(i+1, leadSpace)
			}
		}
		return sc.blanks(i)
	case cBlank:
		if i+1 < len(s) {
			switch class[s[i+1]] {
			case cLower, cUpper:
				return sc.word(i+1, leadOther)
			}
		}
		return sc.blanks(i)
	case cBreak:
		return sc.blanks(i)
	case cDigit:
		end = i + 1
		for end < len(s) && end < i+3 && class[s[end]] == cDigit {
			end++
		}
		return -1, end
	case cMark:
		if i+1 < len(s) {
			switch class[s[i+1]] {
			case cLower, cUpper:
				return sc.word(i+1, leadOther)
			case cHigh:
				if k, _ := runeKind(s[i+1:]); k < punctMixed {
					return sc.high(i+1, leadOther)
				}
			}
		}
		return sc.marks(i, leadNone)
	}
	return sc.high(i, leadNone)
}

// word splits off the letters at s[i:], which begin with ASCII letters.
func (sc *scanner) word(i, lead int) (c, end int) {
	s := sc.s
	stop := min(len(s), i+maxWord)
	end = i
	for end < stop && class[s[end]] == cUpper {
		end++
	}
	upper := end - i
	for end < stop && class[s[end]] == cLower {
		end++
	}
	lower := end - i - upper
	kind := wordMixed
	switch {
	case upper == 0:
		kind = wordLower
	case lower == 0:
		kind = wordUpper
	case upper == 1:
		kind = wordCap
	}
	if !sc.humps && end < stop && class[s[end]] == cUpper {
		kind = wordMixed
		for end < stop && (class[s[end]] == cUpper || class[s[end]] == cLower) {
			end++
		}
	}
	if end < stop && s[end] >= 0x80 {
		if k, _ := runeKind(s[end:]); k == wordLatin {
			return sc.script(i, lead, wordLatin)
		}
	}
	return cell(kind, lead, end-i), end
}

// marks splits off a run of ASCII punctuation from i on, with the following line ends.
func (sc *scanner) marks(i, lead int) (c, end int) {
	s := sc.s
	stop := min(len(s), i+maxRun)
	same := true
	for end = i + 1; end < stop && class[s[end]] == cMark; end++ {
		same = same && s[end] == s[i]
	}
	kind := punctMixed
	if same && end-i > 1 {
		kind = punctSame
	}
	n := runLength(end - i)
	if end < len(s) && class[s[end]] == cBreak {
		kind = punctBreak
		for end < stop && class[s[end]] == cBreak {
			end++
		}
	}
	return cell(kind, lead, n), end
}

// blanks splits off a run of white space. Up to its last line end it is one piece. If a word or a mark follows, the last blank
// belongs to that.
func (sc *scanner) blanks(i int) (c, end int) {
	s := sc.s
	stop := min(len(s), i+maxRun)
	last := -1
	for end = i; end < stop; end++ {
		k := class[s[end]]
		if k == cBreak {
			last = end
		} else if k != cSpace && k != cBlank {
			break
		}
	}
	if last >= 0 {
		return cell(breakRun, 0, runLength(last+1-i)), last + 1
	}
	kind := spaceRun
	if s[i] != ' ' {
		kind = tabRun
	}
	if end < len(s) && end-i > 1 && end < i+maxRun {
		end--
	}
	return cell(kind, 0, runLength(end-i)), end
}

// high splits off a piece that begins with a non-ASCII character.
func (sc *scanner) high(i, lead int) (c, end int) {
	kind, size := runeKind(sc.s[i:])
	switch {
	case kind < punctMixed:
		return sc.script(i, lead, kind)
	case kind == spaceRun:
		return cell(spaceRun, 0, 2), i + size
	}
	// A mark may lead a word.
	if end = i + size; end < len(sc.s) && kind != invalid && lead == leadNone {
		switch class[sc.s[end]] {
		case cLower, cUpper:
			return sc.word(end, leadHigh)
		case cHigh:
			if k, _ := runeKind(sc.s[end:]); k < punctMixed {
				return sc.script(end, leadHigh, k)
			}
		}
	}
	return cell(kind, lead, 1), i + size
}

// script splits off letters of one script. Latin includes ASCII letters, and is split at humps as in word.
func (sc *scanner) script(i, lead, kind int) (c, end int) {
	s := sc.s
	n, lower := 0, false
	for end = i; end < len(s) && n < maxWord; n++ {
		k, size := wordLatin, 1
		if s[end] >= 0x80 {
			k, size = runeKind(s[end:])
		} else if cl := class[s[end]]; cl != cLower && cl != cUpper {
			break
		} else if cl == cUpper && lower && sc.humps {
			break
		} else {
			lower = cl == cLower
		}
		if k != kind {
			break
		}
		end += size
		if kind == wordOther {
			n += size - 1
		}
	}
	return cell(kind, lead, min(n, maxWord)), end
}

// runeKind returns the kind of the character at the beginning of s and its
// size in bytes. s is not empty and does not begin with an ASCII character.
func runeKind(s string) (kind, size int) {
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && size <= 1:
		return invalid, 1
	case r < 0x250:
		if r == 0xA0 || r == 0x85 {
			return spaceRun, size
		}
		if r < 0xC0 && r != 0xAA && r != 0xB5 && r != 0xBA || r == 0xD7 || r == 0xF7 {
			return symbolBMP, size
		}
		return wordLatin, size
	case r >= 0x400 && r < 0x530:
		return wordCyrillic, size
	case r >= 0x2000 && r < 0x2C00:
		return symbolBMP, size
	case r >= 0x3040 && r < 0x3100:
		return wordKana, size
	case r >= 0x3400 && r < 0xA000:
		return wordHan, size
	case r >= 0xAC00 && r < 0xD7B0:
		return wordHangul, size
	case r >= 0x3000 && r < 0x3040, r >= 0xFF00 && r < 0xFFF0, r >= 0xFE10 && r < 0xFE70:
		return symbolWide, size
	case r >= 0x1F000:
		if r >= 0x20000 && r < 0x40000 {
			return wordHan, size
		}
		return symbolEmoji, size
	}
	if unicode.IsLetter(r) || unicode.IsMark(r) {
		return wordOther, size
	}
	return symbolBMP, size
}
