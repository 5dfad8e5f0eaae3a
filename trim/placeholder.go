package trim

// The placeholders: their mark and their words, the functions that write them, and the
// functions that read them back from a request that was planned before.

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/trim/dialect"
)

// mark begins every placeholder but the caller's own and the Chinese one of
// keep-latest.
const mark = dialect.Mark

// The placeholders with a fixed text. The first three are in the arguments of a call,
// the last in place of a result.
const (
	replacedPlaceholder = mark + "left out: the text that this edit replaced.]"
	writtenPlaceholder  = mark + "left out: what was written. Read the file if needed.]"
	toldPlaceholder     = mark + "left out: what an older call was told.]"
	unfitPlaceholder    = mark + "result left out to fit the window. Call again if needed.]"
)

// opening is put before a conversation that does not begin with a user's
// message, which no provider accepts.
const opening = mark + "the conversation begins with the assistant's own words.]"

// clearedText is what the provider is taken to put in the place of a result that it clears.
const clearedText = "[Old tool result content cleared]"

// outputName is what a pointer calls the lines that commands and other tools printed.
const outputName = "output"

// The words for a source whose call has no name of its own.
const (
	earlierRead = "an earlier read"
	earlierCall = "an earlier call"
)

// olderZH is the source document's own wording.
const olderZH = "[该文件的历史读取内容已压缩,请参看最新读取结果]"

// isPlaceholder reports whether a text is a placeholder and nothing else.
func isPlaceholder(text string) bool {
	return strings.HasPrefix(text, mark) && !strings.Contains(text, "\n")
}

// repeatedLine is the placeholder of a line that follows itself, so that it is there n
// times in all.
func repeatedLine(n int) string { return fmt.Sprintf("%sthe line above, %d times in all]", mark, n) }

// wording writes the placeholders that depend on the configuration.
type wording struct {
	language string
	custom   string // for older
}

// older is the placeholder of reads that newer reads of the files follow. lines is ""
// where all of a file was shown, or no range is known.
func (w wording) older(paths []string, lines string, dir bool) string {
	name := plain(strings.Join(paths, ", "), 200)
	switch {
	case w.custom != "":
		return plain(strings.NewReplacer("{path}", name, "{lines}", lines).Replace(w.custom), 1000)
	case w.language == "zh":
		return olderZH
	case dir:
		return mark + name + ": an older listing, left out; newer ones of this directory follow. List it again if needed.]"
	case len(paths) > 1:
		return mark + name + ": older reads, left out; newer reads of these files follow. Read them again if needed.]"
	case lines == "":
		return mark + name + ": an older read, left out; newer reads of this file follow. Read it again if needed.]"
	default:
		return mark + name + " lines " + lines + ": an older read, left out; newer reads of this file follow. Read these lines again if needed.]"
	}
}

// command is the placeholder of the output of an old command. It does not say of a command that may
// change something that it can be run again.
func (w wording) command(a *dialect.Action) string {
	again, zh := " Run it again if needed.]", " 如有需要请重新运行。]"
	if !a.Repeatable() {
		again, zh = " Run again, it may change something, or print something else.]", " 再次运行可能会更改内容，或输出不同的结果。]"
	}
	if w.language == "zh" {
		return mark + "较早的命令输出已省略: " + shownCommand(a, 80) + zh
	}
	return mark + "output of an older command left out: " + shownCommand(a, 80) + again
}

// shownCommand is a command in a placeholder. A backslash is shown as "…": with the slash that plain has for it, it would be another command.
func shownCommand(a *dialect.Action, most int) string {
	return plain(strings.ReplaceAll(a.Command, `\`, "…"), most)
}

// output is the placeholder of what an old command, search or the like printed.
func (w wording) output(a *dialect.Action) string {
	if a.Op == dialect.Shell {
		return w.command(a)
	}
	again := " Call it again if needed.]"
	if a.Op == dialect.Agent {
		again = " Called again, it does all of its work again, and may change something.]"
	}
	return mark + "an older result, left out: " + shownCommand(a, 160) + again
}

// idlePlaceholder is the placeholder of an old read of files that were not touched
// for long.
func idlePlaceholder(paths []string) string {
	return mark + plain(strings.Join(paths, ", "), 200) + ": an older read, left out. Read it again if needed.]"
}

// plain makes s fit to be in a placeholder: control characters and quotes are
// replaced, backslashes become slashes, and what is over max bytes is cut.
func plain(s string, max int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r < 0x20 || r == 0x7f || r == 0x2028 || r == 0x2029:
			return ' '
		case r == '"':
			return '\''
		case r == '\\':
			return '/'
		}
		return r
	}, s)
	return limits.Shorten(s, max)
}

// pointer is a placeholder of lines that are above. It names their sources:
//
//	[stet: src/a.go lines 8-27 unchanged: shown above by call_1 (lines 1-123). Ask again for the full text.]
//	[stet: src/a.go lines 1-62 of 62 unchanged: 1-29 shown above by call_1, 30-32 written by call_2, 33-62 shown above by call_1 (lines 31-60 there). Ask again for the full text.]
//	[stet: copy/a.go lines 1-40 the same: shown above by call_1 (lines 1-40 of src/a.go). Ask again for the full text.]
//	[stet: output lines 4-90 unchanged: shown above by call_7 (lines 1-87 there). Ask again for the full text.]
//
// "unchanged" says that the lines are in the same file, "the same" that some are
// in another one. Lines of an output are those of its normal form, counted from its
// first line.
type pointer struct {
	name  string // of the file
	file  *file
	first int   // the number of the line that runs count as 0
	runs  []run // that touch: all lines of the pointer
	total int   // lines of the file, where that is worth saying; else 0
	ask   bool  // say how to get the text: the first pointer of a result does
}

// askAgain ends the first pointer of a result, but for its bracket.
const askAgain = ". Ask again for the full text."

// maxRuns is how many runs a pointer may name.
const maxRuns = 6

// String returns the placeholder.
func (p *pointer) String() string {
	var b strings.Builder
	b.Grow(256)
	b.WriteString(mark + plain(p.name, 200) + " lines " + p.lines().both())
	if p.total > 0 {
		b.WriteString(" of " + strconv.Itoa(p.total))
	}
	if slices.ContainsFunc(p.runs, p.elsewhere) {
		b.WriteString(" the same: ")
	} else {
		b.WriteString(" unchanged: ")
	}
	inPlace := !slices.ContainsFunc(p.runs, func(r run) bool { return !p.inPlace(r) })
	if inPlace {
		b.WriteString("shown above by ")
	}
	for i, r := range p.runs {
		if i > 0 {
			b.WriteString(", ")
		}
		switch {
		case inPlace && len(p.runs) == 1:
			b.WriteString(r.passage.name() + " (lines " + r.passage.span().both() + ")")
		case inPlace:
			b.WriteString(r.passage.name() + " (lines " + p.numbers(r).both() + ")")
		default:
			if len(p.runs) > 1 {
				b.WriteString(p.numbers(r).String() + " ")
			}
			if r.passage.written {
				b.WriteString("written by ")
			} else {
				b.WriteString("shown above by ")
			}
			b.WriteString(r.passage.name() + p.where(r))
		}
	}
	if p.ask {
		b.WriteString(askAgain)
	}
	b.WriteString("]")
	return b.String()
}

// lines returns the lines that the pointer stands for.
func (p *pointer) lines() span {
	return span{p.first + p.runs[0].from, p.first + p.runs[len(p.runs)-1].to - 1}
}

// numbers returns the lines of a run as the file has them now.
func (p *pointer) numbers(r run) span { return span{p.first + r.from, p.first + r.to - 1} }

// elsewhere reports whether a run is in another file.
func (p *pointer) elsewhere(r run) bool { return r.passage.file != p.file }

// inPlace reports whether a result shows the lines of a run in the same file, under the
// same numbers.
func (p *pointer) inPlace(r run) bool {
	return !r.passage.written && !p.elsewhere(r) && r.there() == p.numbers(r)
}

// where says where in its source a run is, unless that is plain.
func (p *pointer) where(r run) string {
	there, of := r.there(), ""
	if p.elsewhere(r) && r.passage.file.key != outputs {
		of = plain(r.passage.file.key, 200)
	}
	switch {
	case r.passage.first == 0 && of == "":
		return ""
	case r.passage.first == 0:
		return " in " + of
	case of != "":
		return " (lines " + there.String() + " of " + of + ")"
	case p.elsewhere(r) || there != p.numbers(r):
		return " (lines " + there.String() + " there)"
	}
	return ""
}

// there returns the lines of a run as their source numbers them.
func (r run) there() span {
	first := r.passage.first + r.at
	return span{first, first + r.len() - 1}
}

// name is what a pointer calls the source.
func (s *source) name() string {
	switch {
	case s.call != "":
		return plain(s.call, 80)
	case s.written:
		return earlierCall
	}
	return earlierRead
}

// foundPointer is a pointer that is in a text already: in a planned request, or
// in a session that another process has stored.
type foundPointer struct {
	name  string // of the file
	lines span
	end   int // offset in the text, after it
}

// pointerForm is the form that pointer.String writes. A source is a call id, which has no
// space in it, or "an earlier read" or "an earlier call".
var pointerForm = func() *regexp.Regexp {
	const (
		text   = `[^"\\\n]+`
		lines  = `\d+(?:-\d+)?`
		source = `(?:` + lines + ` )?(?:(?:shown above|written) by )?(?:an earlier (?:read|call)|[^"\\\n ]+)` +
			`(?: \(lines ` + lines + `(?: there| of ` + text + `)?\)| in ` + text + `)?`
	)
	return regexp.MustCompile(regexp.QuoteMeta(mark) + `(` + text + `?) lines (\d+)-(\d+)(?: of \d+)?(?: unchanged| the same): ` +
		source + `(?:, ` + source + `)*(?:` + regexp.QuoteMeta(askAgain) + `)?\]`)
}()

// findPointers finds the pointers in a text. Each is at the beginning of the text or
// of a line, or so in a JSON string, and ends where that line ends.
func findPointers(text string) []foundPointer {
	var out []foundPointer
	for _, at := range pointerForm.FindAllStringSubmatchIndex(text, -1) {
		if !startsLine(text, at[0]) || !endsLine(text, at[1]) {
			continue
		}
		first, err1 := strconv.Atoi(text[at[4]:at[5]])
		last, err2 := strconv.Atoi(text[at[6]:at[7]])
		if err1 == nil && err2 == nil && first <= last {
			out = append(out, foundPointer{text[at[2]:at[3]], span{first, last}, at[1]})
		}
	}
	return out
}

// pointedWords returns the words of the pointers in a text, each once. The names of the calls that they point to are
// among them. any says that a pointer names a call without its id: it may be any call.
func pointedWords(text string) (words []string, any bool) {
	text = strings.Join(pointerForm.FindAllString(text, -1), " ")
	if strings.Contains(text, " "+earlierRead) || strings.Contains(text, " "+earlierCall) {
		return nil, true
	}
	words = strings.Fields(text)
	for i, word := range words {
		words[i] = strings.TrimRight(word, ",.]")
	}
	slices.Sort(words)
	return slices.Compact(words), false
}

// startsLine reports whether a line of a text begins at an offset, or one in a JSON
// string.
func startsLine(text string, at int) bool {
	before := text[:at]
	if before == "" || strings.HasSuffix(before, "\n") {
		return true
	}
	json := text[0] == '{' || text[0] == '['
	return json && (strings.HasSuffix(before, `"`) || strings.HasSuffix(before, escapedBreak))
}

// endsLine reports whether a line of a text ends at an offset, or one in a JSON string.
func endsLine(text string, at int) bool {
	rest := text[at:]
	return rest == "" || rest[0] == '\n' || rest[0] == '\r' || rest[0] == '"' || strings.HasPrefix(rest, escapedBreak)
}

// of reports whether the pointer stands for lines of the file at a path; "" is an
// output.
func (p *foundPointer) of(file string) bool {
	if file == "" {
		return p.name == outputName
	}
	return p.name == plain(file, 200) || p.name == plain(lastElement(file), 200)
}

// lastElement returns the last element of a path.
func lastElement(file string) string { return path.Base(strings.ReplaceAll(file, `\`, "/")) }
