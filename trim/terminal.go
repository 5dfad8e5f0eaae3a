package trim

import (
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

// lastState returns a line as it stands in the end. A carriage return goes back to the
// beginning, and what follows takes the place of what was there. A carriage return
// before the line break stays.
func lastState(line string) string {
	body := strings.TrimSuffix(line, "\n")
	end := line[len(body):]
	if cut := strings.TrimRight(body, "\r"); len(cut) < len(body) {
		body, end = cut, "\r"+end
	}
	if !strings.ContainsAny(body, "\r\x1b") {
		return line
	}
	var c cells
	for body != "" {
		n := 0
		if body[0] == 0x1b {
			n = c.control(body)
		} else {
			n = c.put(body)
		}
		if n == 0 {
			return line
		}
		body = body[n:]
	}
	return string(c.runes) + end
}

// cells is a line of a terminal.
type cells struct {
	runes []rune
	at    int  // where the next one is put
	wide  bool // some of them may take another place than one cell
}

// control does what the control sequence says that s begins with, and returns its
// size; 0 if it is not certain what it does.
func (c *cells) control(s string) int {
	for _, known := range []struct {
		sequence string
		do       func()
	}{
		{"\x1b[K", c.erase}, {"\x1b[0K", c.erase}, {"\x1b[2K", c.clear},
		{"\x1b[G", c.home}, {"\x1b[1G", c.home},
		{"\x1b(B", nil}, {"\x1b[?25l", nil}, {"\x1b[?25h", nil}, {"\x1b[?2004l", nil}, {"\x1b[?2004h", nil},
	} {
		if strings.HasPrefix(s, known.sequence) {
			if known.do != nil {
				known.do()
			}
			return len(known.sequence)
		}
	}
	if rest, ok := strings.CutPrefix(s, "\x1b["); ok { // a colour
		if rest = strings.TrimLeft(rest, "0123456789;:"); strings.HasPrefix(rest, "m") {
			return len(s) - len(rest) + 1
		}
	}
	return 0
}

func (c *cells) home()  { c.at = 0 }
func (c *cells) clear() { c.runes, c.wide = c.runes[:0], false }
func (c *cells) erase() {
	if c.runes = c.runes[:min(c.at, len(c.runes))]; c.at == 0 {
		c.wide = false
	}
}

// put puts the rune that s begins with, and returns its size; 0 if it is not
// certain where.
func (c *cells) put(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case r == '\r':
		c.home()
		return n
	case r < ' ' && r != '\t', r == 0x7f, r == utf8.RuneError, c.at > len(c.runes), c.at < len(c.runes) && (c.wide || wide(r)):
		return 0
	case c.at == len(c.runes):
		c.runes = append(c.runes, r)
	default:
		c.runes[c.at] = r
	}
	c.at++
	c.wide = c.wide || wide(r)
	return n
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
