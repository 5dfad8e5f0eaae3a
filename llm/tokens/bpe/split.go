package bpe

import (
	"strings"
	"unicode/utf8"
)

// splitCased returns the end of the piece that begins at s[i], i < len(s), by the rules of o200k_base: the first of these that
// matches
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
func splitCased(t *classes, s string, i int) int {
	from := t.leading(s, i)
	if from < len(s) && s[from]-'A' < 26 {
		from++
	}
	if end := lowers(s, from, 0); end > from && (end == len(s) || s[end] < utf8.RuneSelf) {
		return contraction(s, end)
	}
	class, size := t.at(s, i)
	if class&(number|lineBreak) == 0 {
		if end := t.casedWord(s, i, class, size); end > 0 {
			return contraction(s, end)
		}
	}
	return t.rest(s, i, class, size, '/')
}

// splitPlain is splitCased for cl100k_base:
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)
//	[^\r\n\p{L}\p{N}]?\p{L}+
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
func splitPlain(t *classes, s string, i int) int {
	if end := contraction(s, i); end > i {
		return end
	}
	from := t.leading(s, i)
	if end := lowers(s, from, 0x20); end > from && (end == len(s) || s[end] < utf8.RuneSelf) {
		return end
	}
	class, size := t.at(s, i)
	if class&(number|lineBreak) == 0 {
		from := i + size
		end := t.run(s, from, letter)
		if end > from || class&letter != 0 {
			return end
		}
	}
	return t.rest(s, i, class, size, '\n')
}

// casedWord returns the end of the word at s[i]; 0 if there is none. The first character has this class and size, and may lead the
// word.
func (t *classes) casedWord(s string, i int, class uint8, size int) int {
	if class&letter != 0 {
		end, _ := t.humps(s, i)
		return end
	}
	end, whole := t.humps(s, i+size)
	switch {
	case whole:
		return end
	case class&upper != 0: // a mark is a word of its own before it leads a word of capitals
		return i + size
	case end > i+size:
		return end
	}
	return 0
}

// humps matches the first pattern's letters from s[i] on, [upper]*[lower]+. If that fails, it matches the second pattern's,
// [upper]+[lower]*, and whole is false.
func (t *classes) humps(s string, i int) (end int, whole bool) {
	last := 0 // end of the last upper character that is lower as well
	for i < len(s) {
		class, size := t.at(s, i)
		if class&upper == 0 {
			if class&lower != 0 {
				return t.run(s, i+size, lower), true
			}
			break
		}
		i += size
		if class&lower != 0 {
			last = i
		}
	}
	if last > 0 {
		return last, true
	}
	return i, false
}

// rest returns the end of a piece that is not a word. Punctuation may be followed by line breaks and by any number of the byte
// also.
func (t *classes) rest(s string, i int, class uint8, size int, also byte) int {
	if class&number != 0 {
		end := i + size
		for n := 1; n < 3 && end < len(s); n++ {
			class, size := t.at(s, end)
			if class&number == 0 {
				break
			}
			end += size
		}
		return end
	}
	mark := i
	if s[i] == ' ' {
		mark++
	}
	if end := t.marks(s, mark); end > mark {
		for end < len(s) && (s[end] == '\n' || s[end] == '\r' || s[end] == also) {
			end++
		}
		return end
	}
	return t.blanks(s, i)
}

// marks returns where [^\s\p{L}\p{N}]* ends from s[i] on.
func (t *classes) marks(s string, i int) int {
	for i < len(s) {
		class, size := t.bytes[s[i]], 1
		if class == wide {
			class, size = t.decode(s, i)
		}
		if class&(space|letter|number) != 0 {
			break
		}
		i += size
	}
	return i
}

// blanks returns the end of a piece of white space at s[i]: after the last line break of the run; without one, before its last
// character, which belongs to the next piece. A single character is a piece.
func (t *classes) blanks(s string, i int) int {
	end, last, breaks := i, i, i
	for end < len(s) {
		class, size := t.at(s, end)
		if class&space == 0 {
			break
		}
		last = end
		end += size
		if class&lineBreak != 0 {
			breaks = end
		}
	}
	switch {
	case breaks > i:
		return breaks
	case end == len(s) || last == i:
		return end
	}
	return last
}

// contraction returns the end of (?i:'s|'t|'re|'ve|'m|'ll|'d)? at s[i].
func contraction(s string, i int) int {
	if i < len(s) && s[i] == '\'' {
		return i + apostrophe(s[i+1:])
	}
	return i
}

// apostrophe returns the length of a contraction including its apostrophe; 0 if there is none. s is the text after the apostrophe.
func apostrophe(s string) int {
	if s == "" {
		return 0
	}
	second := byte(0)
	if len(s) > 1 {
		second = s[1] | 0x20
	}
	switch first := s[0] | 0x20; {
	case first == 's' || first == 't' || first == 'm' || first == 'd':
		return 2
	case (first == 'r' || first == 'v') && second == 'e' || first == 'l' && second == 'l':
		return 3
	case strings.HasPrefix(s, "ſ"): // U+017F matches "s" when case is ignored
		return 1 + len("ſ")
	}
	return 0
}
