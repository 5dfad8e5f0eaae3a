package filetools

import (
	"bytes"
	"io"
	"regexp/syntax"
	"slices"
	"strings"
)

// maxProgram is the largest size of a pattern, as programSize counts it. Each instruction takes memory.
const maxProgram = 20_000

// maxSteps is the number of steps after which a search checks whether it has to end. They take some tenths of a second.
const maxSteps = 1 << 25

// bindsToText reports whether a part of a pattern matches only at the beginning or the end of the whole text.
func bindsToText(t *syntax.Regexp) bool {
	return t.Op == syntax.OpBeginText || t.Op == syntax.OpEndText || slices.ContainsFunc(t.Sub, bindsToText)
}

// programSize is about the number of instructions of a pattern. A match takes at most as many steps for each byte of a text.
func programSize(t *syntax.Regexp) int {
	n := 1
	if t.Op == syntax.OpLiteral {
		n = len(t.Rune)
	}
	for _, sub := range t.Sub {
		n += programSize(sub)
	}
	if t.Op == syntax.OpRepeat {
		n *= max(t.Min, t.Max, 1)
	}
	return n
}

// match reports whether something in a text matches. It returns false if the search has to end.
func (s *search) match(text []byte) bool {
	if !bytes.Contains(text, []byte(s.needed)) {
		return false
	}
	for piece := max(maxSteps/s.size, 4<<10); len(text) > piece; {
		end := bytes.IndexByte(text[piece:], '\n') + 1
		if end == 0 {
			break
		}
		if end += piece; s.matchPiece(text[:end]) {
			return true
		}
		text = text[end:]
	}
	return s.matchPiece(text)
}

func (s *search) matchPiece(text []byte) bool {
	switch {
	case s.late(len(text)):
		return false
	case s.long(len(text)):
		return s.re.MatchReader(&runes{s, bytes.NewReader(text)}) && !s.over // a line that was read in part ends where the whole line does not
	}
	return s.re.Match(text)
}

// matchLine is match for one line.
func (s *search) matchLine(line string) bool {
	switch {
	case !strings.Contains(line, s.needed) || s.late(len(line)):
		return false
	case s.long(len(line)):
		return s.re.MatchReader(&runes{s, strings.NewReader(line)}) && !s.over
	}
	return s.re.MatchString(line)
}

// place returns the byte of a line that matches at which the match begins.
func (s *search) place(line string) int {
	var at []int
	if s.long(len(line)) {
		at = s.re.FindReaderIndex(&runes{s, strings.NewReader(line)})
	} else {
		at = s.re.FindStringIndex(line)
	}
	if at == nil {
		return 0
	}
	return at[0]
}

// long reports whether matching n bytes takes so long that the text has to be read rune by rune, with checks in between.
func (s *search) long(n int) bool { return n > maxSteps/s.size }

// late counts n bytes that are matched next, and reports whether the search has to end.
func (s *search) late(n int) bool {
	if s.steps += n * s.size; s.steps < maxSteps {
		return s.over
	}
	s.steps = 0
	if s.q.cfg.Now().Sub(s.q.began) > maxSearch {
		s.more, s.over = true, true
	}
	s.over = s.over || s.ctx.Err() != nil
	return s.over
}

// runes reads the characters of a text, until the search has to end.
type runes struct {
	search *search
	text   io.RuneReader
}

// ReadRune implements io.RuneReader.
func (r *runes) ReadRune() (rune, int, error) {
	if r.search.late(1) {
		return 0, 0, io.EOF
	}
	return r.text.ReadRune()
}
