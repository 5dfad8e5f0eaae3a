package diff

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Unified returns the diff as text; "" for equal texts. The names follow --- and +++; the caller includes "a/" and "b/", or passes
// "/dev/null". A name that could be misread is quoted as git quotes it. The lines are unchanged: the code that shows them must
// escape control characters.
func (d Diff) Unified(oldName, newName string) string {
	if len(d.Hunks) == 0 {
		return ""
	}
	size := 2 * (len(oldName) + len(newName))
	for _, h := range d.Hunks {
		for _, line := range h.Lines {
			size += len(line.Text) + 1
		}
	}
	var w strings.Builder
	w.Grow(size)
	w.WriteString("--- " + header(oldName) + "\n+++ " + header(newName) + "\n")
	for _, h := range d.Hunks {
		w.WriteString("@@ -" + span(h.OldStart, h.OldLines) + " +" + span(h.NewStart, h.NewLines) + " @@\n")
		for _, line := range h.Lines {
			w.WriteByte(byte(line.Kind))
			w.WriteString(line.Text)
			if !strings.HasSuffix(line.Text, "\n") {
				w.WriteString("\n" + noNewline + "\n")
			}
		}
	}
	return w.String()
}

func span(start, lines int) string {
	if lines == 1 {
		return strconv.Itoa(start)
	}
	return strconv.Itoa(start) + "," + strconv.Itoa(lines)
}

// header returns a name for a header line. It is in double quotes, with escapes, if it has a quote, a backslash, or a character
// that is invisible or changes how others are shown. A name with a space ends in a tab; otherwise tools would look for a time stamp
// after the space.
func header(name string) string {
	plain := true
	for i, r := range name {
		plain = plain && !mustEscape(name[i:], r)
	}
	if plain {
		if strings.Contains(name, " ") {
			return name + "\t"
		}
		return name
	}
	var w strings.Builder
	w.WriteByte('"')
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		if mustEscape(name[i:], r) {
			escape(&w, name[i:i+n])
		} else {
			w.WriteString(name[i : i+n])
		}
		i += n
	}
	w.WriteByte('"')
	return w.String()
}

func mustEscape(rest string, r rune) bool {
	if r == utf8.RuneError {
		_, n := utf8.DecodeRuneInString(rest)
		return n == 1
	}
	return r == '"' || r == '\\' || r != ' ' && !unicode.IsPrint(r)
}

func escape(w *strings.Builder, bytes string) {
	for i := range len(bytes) {
		switch c := bytes[i]; c {
		case '"', '\\':
			w.WriteByte('\\')
			w.WriteByte(c)
		case '\n':
			w.WriteString(`\n`)
		case '\t':
			w.WriteString(`\t`)
		case '\r':
			w.WriteString(`\r`)
		default:
			fmt.Fprintf(w, `\%03o`, c)
		}
	}
}
