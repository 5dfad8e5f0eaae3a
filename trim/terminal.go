package trim

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// sameLines is how many equal lines in a row are worth a count.
const sameLines = 4

// terminal returns the output of a command in its normal form: what a person at a
// terminal would have seen in the end, where that is certain. Colours are removed. Of
// a line that was overwritten the last state stays. Of identical lines in a row one
// stays, with a count. A line with other control characters, which may move the cursor
// anywhere, stays as it is. So does the whole output where nothing but white space
// would stay of it.
func terminal(text string) string {
	out := text
	if strings.ContainsAny(text, "\r\x1b") {
		var b strings.Builder
		for line := range strings.Lines(text) {
			b.WriteString(lastState(line))
		}
		out = b.String()
	}
	if out = collapse(out); strings.TrimSpace(out) == "" {
		return text
	}
	return out
}

// The control sequences whose effect is certain: those of colours, and the like, that show nothing; those that erase the line or its
// rest; and those that go back to its beginning, as a carriage return does.
var (
	silentSequence = regexp.MustCompile(`\x1b(?:\[[0-9;:]*m|\(B|\[\?(?:25|2004)[hl])`)
	knownSequence  = regexp.MustCompile(silentSequence.String() + `|\x1b\[[02]?K|\x1b\[1?G`)
	shortSequences = strings.NewReplacer("\x1b[0K", eraseRest, "\x1b[1G", "\r", "\x1b[G", "\r")
)

const (
	eraseRest = "\x1b[K"
	eraseLine = "\x1b[2K"
)

// lastState returns what a terminal shows of a line in the end. A carriage return goes back to the beginning, and what follows takes the place of what
// was there. If that is shorter and the rest is not erased, some of the earlier text is still shown. Then, and where the width of a character is not
// certain, the line is returned as it is. A carriage return before the line break stays.
func lastState(line string) string {
	body := strings.TrimSuffix(line, "\n")
	end := line[len(body):]
	if cut := strings.TrimRight(body, "\r"); len(cut) < len(body) {
		body, end = cut, "\r"+end
	}
	if !strings.ContainsAny(body, "\r\x1b") {
		return line
	}
	if !utf8.ValidString(body) || len(knownSequence.FindAllString(body, -1)) < strings.Count(body, "\x1b") {
		return line
	}
	state := ""
	for piece := range strings.SplitSeq(shortSequences.Replace(silentSequence.ReplaceAllString(body, "")), "\r") {
		now := strings.TrimPrefix(strings.TrimPrefix(piece, eraseLine), eraseRest)
		if len(now) < len(piece) {
			state = ""
		}
		now, alone := strings.CutSuffix(now, eraseRest)
		now, erased := strings.CutSuffix(now, eraseLine)
		switch {
		case strings.ContainsFunc(now, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			return line
		case erased:
			state = ""
		case state == "", !strings.ContainsFunc(now, wide) && (alone || utf8.RuneCountInString(now) >= utf8.RuneCountInString(state) && !strings.ContainsFunc(state, wide)):
			state = now
		case now != "":
			return line
		}
	}
	return state + end
}

// wide reports whether a rune may take another place than one cell.
func wide(r rune) bool {
	switch {
	case r >= 0x2010 && r < 0x2028, r >= 0x2190 && r < 0x2200, r >= 0x2500 && r < 0x25a0, r >= 0x2800 && r < 0x2900:
		return false // dashes and dots, arrows, bars, and spinners
	}
	return r < ' ' || r >= 0x300 && r < 0x370 || r >= 0x483
}

// collapse leaves one of identical lines in a row, and a count.
func collapse(text string) string {
	if !repeats(text) {
		return text
	}
	var b strings.Builder
	last, n := "", 0
	flush := func() {
		if n < sameLines {
			b.WriteString(strings.Repeat(last, n))
			return
		}
		b.WriteString(last)
		b.WriteString(repeatedLine(n) + "\n")
	}
	for line := range strings.Lines(text) {
		if line == last && strings.HasSuffix(line, "\n") {
			n++
			continue
		}
		flush()
		last, n = line, 1
	}
	flush()
	return b.String()
}

// repeats reports whether a text has identical lines in a row that are worth a count.
func repeats(text string) bool {
	last, n := "", 0
	for line := range strings.Lines(text) {
		if line != last {
			last, n = line, 0
		}
		if n++; n >= sameLines && n*len(line) > 2*len(mark)+60 {
			return true
		}
	}
	return false
}
