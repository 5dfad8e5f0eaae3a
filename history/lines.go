package history

import (
	"fmt"
	"strconv"
	"strings"
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

// piece is a run of lines and the result that shows them.
type piece struct {
	first, last int
	bearer      bearer
}

// repeat is the line for a read all of whose lines stand above.
func (w wording) repeat(path string, lines span, pieces []piece) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s lines %d-%d unchanged: shown above by ", mark, plain(path, 200), lines.first, lines.last)
	for i, p := range pieces {
		if i > 0 {
			b.WriteString(", ")
		}
		call := plain(p.bearer.call, 80)
		if call == "" {
			call = "an earlier read"
		}
		fmt.Fprintf(&b, "%s (lines %d-%d)", call, p.bearer.first, p.bearer.last)
	}
	if w.language == "zh" {
		b.WriteString("。再次读取可得全文。]")
	} else {
		b.WriteString(". Ask again for the full text.]")
	}
	return b.String()
}

// stub is a line of ours found in a text.
type stub struct {
	path        string
	first, last int
}

// stubs finds the lines of the form that repeat writes. Each stands at the
// beginning of the text or of a line, or inside a JSON string.
func stubs(text string) []stub {
	var out []stub
	for {
		i := strings.Index(text, mark)
		if i < 0 {
			return out
		}
		text = text[i+len(mark):]
		head, _, ok := strings.Cut(text[:min(len(text), 400)], " unchanged: shown above by ")
		if !ok || strings.Contains(head, "\n") {
			continue
		}
		at := strings.LastIndex(head, " lines ")
		if at < 0 {
			continue
		}
		a, b, ok := strings.Cut(head[at+len(" lines "):], "-")
		first, err1 := strconv.Atoi(a)
		last, err2 := strconv.Atoi(b)
		if ok && err1 == nil && err2 == nil && first <= last {
			out = append(out, stub{head[:at], first, last})
		}
	}
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
