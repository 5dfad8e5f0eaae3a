package trim

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// pointer is a placeholder of lines that stand above. It names their sources:
//
//	[stet: src/a.go lines 8-27 unchanged: shown above by call_1 (lines 1-123). Ask again for the full text.]
//	[stet: src/a.go lines 1-62 of 62 unchanged: 1-29 shown above by call_1, 30-32 written by call_2, 33-62 shown above by call_1 (lines 31-60 there). Ask again for the full text.]
//	[stet: copy/a.go lines 1-40 the same: shown above by call_1 (lines 1-40 of src/a.go). Ask again for the full text.]
//	[stet: output lines 4-90 unchanged: shown above by call_7 (lines 1-87 there). Ask again for the full text.]
//
// "unchanged" says that the lines stand in the same file, "the same" that some stand
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

// elsewhere reports whether a run stands in another file.
func (p *pointer) elsewhere(r run) bool { return r.passage.file != p.file }

// inPlace reports whether a result shows the lines of a run in the same file, under the
// same numbers.
func (p *pointer) inPlace(r run) bool {
	return !r.passage.written && !p.elsewhere(r) && r.there() == p.numbers(r)
}

// where tells where in its source a run stands, unless that is plain.
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
		return "an earlier call"
	}
	return "an earlier read"
}

// foundPointer is a pointer that stands in a text already: in a planned request, or
// in a session that another process has stored.
type foundPointer struct {
	name  string // of the file
	lines span
	end   int // offset in the text behind it
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
	return regexp.MustCompile(`\[stet: (` + text + `?) lines (\d+)-(\d+)(?: of \d+)?(?: unchanged| the same): ` +
		source + `(?:, ` + source + `)*(?:` + regexp.QuoteMeta(askAgain) + `)?\]`)
}()

// findPointers finds the pointers in a text. Each stands at the beginning of the text or
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
