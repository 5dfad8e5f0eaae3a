package history

import (
	"fmt"
	"strings"
)

// sameLines is how many lines that are all the same are worth a count.
const sameLines = 4

// terminal returns the output of a command in its normal form: what a person
// at a terminal would have seen in the end. Colours and other control
// sequences are gone, of a line that was overwritten the last state stands,
// and of a run of identical lines one, with a count. It is what it is given,
// where nothing of that is in it.
func terminal(text string) string {
	if strings.Contains(text, "\x1b") {
		text = uncolour(text)
	}
	if strings.ContainsAny(text, "\r\x1b") {
		text = overwrite(text)
	}
	return collapse(text)
}

// uncolour takes out control sequences but erase: ESC [ … letter, ESC ] … BEL
// or ESC \, and ESC with one character. An escape of none of these goes too.
func uncolour(text string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(text, 0x1b)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:i])
		n := sequence(text[i:])
		switch text[i : i+n] {
		case erase, "\x1b[0K", "\x1b[2K":
			b.WriteString(erase)
		}
		text = text[i+n:]
	}
}

// sequence returns the size of the control sequence that s begins with. One
// that does not end is its first byte alone.
func sequence(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if c := s[i]; c >= 0x40 && c <= 0x7e {
				return i + 1
			} else if c < 0x20 || c > 0x7e {
				return 1
			}
		}
		return 1
	case ']':
		for i := 2; i < len(s) && s[i] != '\n'; i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b && strings.HasPrefix(s[i:], "\x1b\\") {
				return i + 2
			}
		}
		return 1
	case '(', ')':
		return min(3, len(s))
	case '=', '>', '7', '8', 'M', 'c':
		return 2
	}
	return 1
}

// erase clears a line from the cursor to its end.
const erase = "\x1b[K"

// overwrite leaves of each line what stands in it in the end: a carriage
// return goes back to its beginning, what follows takes the place of what was
// there. One before the line break stays.
func overwrite(text string) string {
	var b strings.Builder
	var cells []rune
	for line := range strings.Lines(text) {
		body := strings.TrimSuffix(line, "\n")
		end := line[len(body):]
		if cut := strings.TrimRight(body, "\r"); len(cut) < len(body) {
			body, end = cut, "\r"+end
		}
		if !strings.ContainsAny(body, "\r\x1b") {
			b.WriteString(body + end)
			continue
		}
		cells = cells[:0]
		for state := range strings.SplitSeq(body, "\r") {
			at := 0
			for i, part := range strings.Split(state, erase) {
				if i > 0 {
					cells = cells[:at]
				}
				for _, r := range part {
					if at == len(cells) {
						cells = append(cells, r)
					}
					cells[at] = r
					at++
				}
			}
		}
		b.WriteString(string(cells))
		b.WriteString(end)
	}
	return b.String()
}

// collapse leaves one of a run of identical lines, and a count.
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
		fmt.Fprintf(&b, "%sthe line above, %d times in all]\n", mark, n)
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

// repeats reports whether a text has a run of identical lines worth a count.
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
