package check

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/dialect"
)

// visible returns the texts that a part shows. A call shows the strings in its
// arguments. A result that is one JSON value may be a file or an envelope, so it
// shows both its text and the strings in it.
func visible(p *llm.Part) []string {
	switch {
	case p.Kind == llm.ToolCall:
		return Decoded(p.Args)
	case p.Kind == llm.Opaque || strings.TrimSpace(p.Text) == "":
		return nil
	}
	inside := Decoded(p.Text)
	if len(inside) == 1 && inside[0] == p.Text {
		return inside
	}
	return append([]string{p.Text}, inside...)
}

// Decoded returns the strings in a text that is one JSON value. Any other text is
// returned itself, unless it is blank.
func Decoded(text string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if text[0] != '{' && text[0] != '[' && text[0] != '"' {
		return []string{text}
	}
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return []string{text}
	}
	return jsonStrings(nil, v)
}

func jsonStrings(out []string, v any) []string {
	switch v := v.(type) {
	case string:
		return append(out, v)
	case []any:
		for _, e := range v {
			out = jsonStrings(out, e)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) { // the order in which names are recalled follows from it
			out = jsonStrings(out, v[key])
		}
	}
	return out
}

// eachLine calls do with every line of a text that is not blank, in each of its
// forms.
func eachLine(text string, do func(line string)) {
	patch := IsPatch(text)
	for line := range strings.Lines(text) {
		if line = Clean(line); line != "" {
			Forms(line, patch, do)
		}
	}
}

// underHeadings calls do with the lines of a text that are below the path of their file, as a search prints them that puts
// it in front of each line: with the path, and with its end, since some searches print paths of both kinds.
func underHeadings(text string, do func(line string)) {
	heading := ""
	for line := range strings.Lines(text) {
		line = Clean(line)
		n, mark := dialect.LineNumber(line)
		switch {
		case n == 0 && line != "--":
			heading = line
		case n == 0 || heading == "":
		default:
			for at := 0; ; {
				do(heading[at:] + string(mark) + line)
				next := strings.IndexByte(heading[at:], '/')
				if next < 0 {
					break
				}
				at += next + 1
			}
		}
	}
}

// IsPatch reports whether a text may be a patch or a diff.
func IsPatch(text string) bool {
	return strings.Contains(text, "@@") || strings.Contains(text, "*** Begin Patch")
}

// Clean returns a line as a terminal shows it in the end, without blanks at its end.
func Clean(line string) string {
	line = overwritten(strings.TrimRight(line, "\r\n"))
	line = strings.TrimRight(line, " \t")
	if strings.IndexByte(line, 0x1b) >= 0 {
		line = strings.TrimRight(uncoloured(line), " \t")
	}
	return line
}

// overwritten returns a line in which what follows a carriage return takes the place of what was there. With escape sequences in it, what
// was there may be erased.
func overwritten(line string) string {
	last := strings.LastIndexByte(line, '\r')
	if last < 0 || strings.IndexByte(line, 0x1b) >= 0 {
		return line[last+1:]
	}
	var cells []rune
	for piece := range strings.SplitSeq(line, "\r") {
		if now := []rune(piece); len(now) > len(cells) {
			cells = now
		} else {
			copy(cells, now)
		}
	}
	return string(cells)
}

// uncoloured returns a line without escape sequences of the form ESC [ … letter.
func uncoloured(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		if line[i] != 0x1b {
			b.WriteByte(line[i])
			continue
		}
		for i++; i < len(line) && (line[i] < '@' || line[i] > '~' || line[i] == '['); i++ {
		}
	}
	return b.String()
}

// Forms calls do with a line, and with the text after its line number or patch
// mark.
func Forms(line string, patch bool, do func(string)) {
	do(line)
	if rest, ok := BehindNumber(line); ok && rest != "" {
		do(rest)
		if rest[0] == ' ' && len(rest) > 1 {
			do(rest[1:])
		}
	}
	if patch && len(line) > 1 && (line[0] == '+' || line[0] == ' ') {
		do(line[1:])
	}
}

// BehindNumber returns what follows a line number: "  12→text", "12\ttext",
// "12: text", "12| text", "12. text"; false where there is none.
func BehindNumber(line string) (string, bool) {
	s := strings.TrimLeft(line, " ")
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	if n == 0 || n > 8 {
		return "", false
	}
	s = s[n:]
	for _, mark := range [...]string{"→", "\t", ":", "|", " |", ".", "-"} {
		if rest, ok := strings.CutPrefix(s, mark); ok {
			return rest, true
		}
	}
	return "", false
}

// inOnePiece reports whether text holds the lines of want one after the
// other. The first may begin, and the last may end, inside a line.
func inOnePiece(text string, want []string) bool {
	if len(want) == 1 {
		return strings.Contains(text, want[0])
	}
	var have []string
	for line := range strings.Lines(text) {
		have = append(have, Clean(line))
	}
	patch := IsPatch(text)
	for i := 0; i+len(want) <= len(have); i++ {
		if strings.HasSuffix(have[i], want[0]) && follow(have[i+1:], want[1:], patch) {
			return true
		}
	}
	return false
}

func follow(have, want []string, patch bool) bool {
	for i, w := range want {
		rest, numbered := BehindNumber(have[i])
		found := have[i] == w || numbered && rest == w
		Forms(have[i], patch, func(form string) {
			found = found || form == w || i == len(want)-1 && strings.HasPrefix(form, w)
		})
		if !found {
			return false
		}
	}
	return true
}
