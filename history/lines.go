package history

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stet-dev/stet/dialect"
)

// mark begins every line that the engine leaves in place of a text.
const mark = "[stet: "

// zhOlder is the source document's own wording (TRIM-11).
const zhOlder = "[该文件的历史读取内容已压缩,请参看最新读取结果]"

// wording makes the lines that stand for what was left out.
type wording struct {
	language string
	custom   string
}

// older is the line for a read that newer reads of the file follow.
// lines is "" where the whole file or no range is known.
func (w wording) older(paths []string, lines string, dir bool) string {
	name := plain(strings.Join(paths, ", "), 200)
	switch {
	case w.custom != "":
		return plain(strings.NewReplacer("{path}", name, "{lines}", lines).Replace(w.custom), 1000)
	case w.language == "zh":
		return zhOlder
	case dir:
		return fmt.Sprintf("%s%s: an older listing, left out; newer ones of this directory follow. List it again if needed.]", mark, name)
	case len(paths) > 1:
		return fmt.Sprintf("%s%s: older reads, left out; newer reads of these files follow. Read them again if needed.]", mark, name)
	case lines == "":
		return fmt.Sprintf("%s%s: an older read, left out; newer reads of this file follow. Read it again if needed.]", mark, name)
	default:
		return fmt.Sprintf("%s%s lines %s: an older read, left out; newer reads of this file follow. Read these lines again if needed.]", mark, name, lines)
	}
}

// terminal is the line for the output of a command that newer ones follow.
func (w wording) terminal(command string) string {
	if w.language == "zh" {
		return mark + "较早的命令输出已省略: " + plain(command, 80) + " 如有需要请重新运行。]"
	}
	return mark + "output of an older command left out: " + plain(command, 80) + " Run it again if needed.]"
}

// unused is the line for a read that leaves at a moment.
func (w wording) unused(paths []string) string {
	return fmt.Sprintf("%s%s: an older read, left out. Read it again if needed.]", mark, plain(strings.Join(paths, ", "), 200))
}

// relisted is the line for a listing that a newer one follows.
func (w wording) relisted(path string, newer bearer) string {
	call := plain(newer.call, 80)
	if call == "" {
		call = "a later call"
	}
	return fmt.Sprintf("%s%s: an older listing, left out: listed again below by %s.]", mark, plain(path, 200), call)
}

// again is the line for what an old command, search or the like printed.
func (w wording) again(a *dialect.Action) string {
	if a.Op == dialect.Shell {
		return w.terminal(a.Command)
	}
	return mark + "an older result, left out: " + plain(a.Command, 160) + " Call it again if needed.]"
}

// piece is lines of a file as they are now numbered, and where they stand above.
type piece struct {
	span
	text  *text
	at    int  // the index in text.lines of the first of them
	other bool // the text is of another file
}

// there returns the lines as their bearer numbers them.
func (p piece) there() span {
	return span{p.text.first + p.at, p.text.first + p.at + p.last - p.first}
}

// name is what a line calls the bearer.
func (p piece) name() string {
	switch {
	case p.text.call != "":
		return plain(p.text.call, 80)
	case p.text.written:
		return "an earlier call"
	}
	return "an earlier read"
}

// where tells where in its bearer a piece stands, unless that is plain.
func (p piece) where() string {
	s, of := p.there(), ""
	if p.other && p.text.file.path != outputs {
		of = plain(p.text.file.path, 200)
	}
	switch {
	case p.text.first == 0 && of == "":
		return ""
	case p.text.first == 0:
		return " in " + of
	case of != "":
		return " (lines " + s.String() + " of " + of + ")"
	case p.other || s != p.span:
		return " (lines " + s.String() + " there)"
	}
	return ""
}

// standing is the line for lines of a file all of which stand above.
// total is how many lines the file has, where that is worth saying; else 0.
// The first of a result says how to get the text.
func (w wording) standing(path string, lines span, total int, pieces []piece, first bool) string {
	var b strings.Builder
	b.Grow(256)
	b.WriteString(mark + plain(path, 200) + " lines " + strconv.Itoa(lines.first) + "-" + strconv.Itoa(lines.last))
	if total > 0 {
		b.WriteString(" of " + strconv.Itoa(total))
	}
	if slices.ContainsFunc(pieces, func(p piece) bool { return p.other }) {
		b.WriteString(sameMark)
	} else {
		b.WriteString(unchangedMark)
	}
	if inPlace(pieces) {
		b.WriteString("shown above by ")
		for i, p := range pieces {
			if i > 0 {
				b.WriteString(", ")
			}
			s := p.span
			if len(pieces) == 1 {
				s = p.text.span()
			}
			b.WriteString(p.name() + " (lines " + strconv.Itoa(s.first) + "-" + strconv.Itoa(s.last) + ")")
		}
	} else {
		for i, p := range pieces {
			if i > 0 {
				b.WriteString(", ")
			}
			if len(pieces) > 1 {
				b.WriteString(p.span.String() + " ")
			}
			if p.text.written {
				b.WriteString("written by " + p.name())
			} else {
				b.WriteString("shown above by " + p.name())
			}
			b.WriteString(p.where())
		}
	}
	if first {
		b.WriteString(askAgain)
	}
	b.WriteString("]")
	return b.String()
}

// inPlace reports whether results show the pieces under the same numbers.
func inPlace(pieces []piece) bool {
	for _, p := range pieces {
		if p.text.written || p.other || p.there() != p.span {
			return false
		}
	}
	return true
}

// What stands between the lines that are in view and where they are: in the
// same file, or in another too. And what the first line of a result ends with,
// but for its bracket.
const (
	unchangedMark = " unchanged: "
	sameMark      = " the same: "
	askAgain      = ". Ask again for the full text."
)

// stub is a line of ours found in a text.
type stub struct {
	path        string
	first, last int
	behind      int // the offset in the text of what follows the mark
}

// stubs finds the lines of the form that standing writes. Each stands at the
// beginning of the text or of a line, or inside a JSON string.
func stubs(text string) []stub {
	var out []stub
	whole := text
	for at := 0; ; {
		i := strings.Index(text, mark)
		if i < 0 {
			return out
		}
		at += i + len(mark)
		text = text[i+len(mark):]
		if !begins(whole, at-len(mark)) {
			continue
		}
		head, _, _ := strings.Cut(text[:min(len(text), 400)], "\n")
		head, told := before(head, unchangedMark, sameMark)
		if !told {
			continue
		}
		name := strings.LastIndex(head, " lines ")
		if name < 0 {
			continue
		}
		a, b, ok := strings.Cut(head[name+len(" lines "):], "-")
		first, err1 := strconv.Atoi(a)
		b, _, _ = strings.Cut(b, " of ")
		last, err2 := strconv.Atoi(b)
		if ok && err1 == nil && err2 == nil && first <= last {
			out = append(out, stub{head[:name], first, last, at})
		}
	}
}

// stubs finds them in the text of a fact.
func (fa *fact) stubs() []stub {
	if !fa.marked {
		return nil
	}
	return stubs(fa.text)
}

// begins reports whether a line of ours may begin at an offset of a text: a line
// begins there, or one in a JSON string.
func begins(text string, at int) bool {
	before := text[:at]
	if before == "" || strings.HasSuffix(before, "\n") {
		return true
	}
	json := text[0] == '{' || text[0] == '['
	return json && (strings.HasSuffix(before, `"`) || strings.HasSuffix(before, escapedBreak))
}

// before returns what of s stands before the first of the marks, and whether
// there is one.
func before(s string, marks ...string) (string, bool) {
	found := false
	for _, m := range marks {
		if head, _, ok := strings.Cut(s, m); ok {
			s, found = head, true
		}
	}
	return s, found
}

// plain makes s fit to stand in a line of ours, also inside a JSON string:
// control characters and quotes are replaced, backslashes become slashes, and
// what is over max bytes is cut.
func plain(s string, max int) string {
	s = oneLine(s)
	clean := func(r rune) rune {
		switch r {
		case '"':
			return '\''
		case '\\':
			return '/'
		}
		return r
	}
	s = strings.Map(clean, s)
	if len(s) > max {
		s = strings.ToValidUTF8(s[:max], "") + "…"
	}
	return s
}

// oneLine replaces line breaks and other control characters by spaces.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, s)
}
