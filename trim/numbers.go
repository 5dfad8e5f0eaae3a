package trim

import (
	"strconv"
	"strings"

	"github.com/stet-dev/stet/trim/dialect"
)

// Line numbers that can be counted are left out of a read when it is sent for the first time. Each number costs more tokens than
// most words. The first line of a stretch keeps its number, and so does every tenth line. Nothing else of the read changes. It is
// done for tools of agents whose edits name text (dialect.Action.EditsByText).

// LineNumbers says which lines of a read keep the numbers that the tool wrote before them.
type LineNumbers string

// The choices. The zero value is SparseNumbers under Bold, and else AllNumbers.
const (
	AllNumbers    LineNumbers = "all"    // every line
	SparseNumbers LineNumbers = "sparse" // every tenth line
)

const (
	numberEvery = 10 // a line whose number is a multiple of it keeps the number
	sparseFrom  = 20 // a stretch with fewer lines keeps all of its numbers
)

// sparse reports whether numbers may be left out.
func (c *Config) sparse() bool {
	return c.LineNumbers == SparseNumbers || c.LineNumbers == "" && c.Policy == Bold
}

// thin returns what the rows from up to to of a section say, as rowsOf returns them, without the numbers that can be counted. The
// text is as the tool wrote it where a line without its number could be taken for something else.
func thin(text string, s *dialect.Section, rows []int, from, to int) string {
	whole := text[rows[from]:rows[to]]
	if to-from < sparseFrom {
		return whole
	}
	var b strings.Builder
	b.Grow(len(whole))
	for i := from; i < to; i++ {
		row := text[rows[i]:rows[i+1]]
		bare, ok := withoutNumber(row, s.First+i)
		if !ok || strings.HasPrefix(bare, mark) {
			return whole
		}
		if i == from || (s.First+i)%numberEvery == 0 || bare == "" { // a blank last line would be nothing without it
			bare = row
		}
		b.WriteString(bare)
	}
	return b.String()
}

// withoutNumber returns a row of a read without the number n before its line. It is false if there is no such number, or if the line begins
// as a row with a number does.
func withoutNumber(row string, n int) (string, bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeft(row, " L0"), strconv.Itoa(n))
	if !ok {
		return "", false
	}
	for _, separator := range []string{"\t", `\t`, "→", " | ", "| ", ": ", ". "} {
		bare, ok := strings.CutPrefix(rest, separator)
		if !ok {
			continue
		}
		digits := strings.TrimLeft(bare, " L")
		after := strings.TrimLeft(digits, "0123456789")
		return bare, after == digits || !strings.HasPrefix(after, strings.TrimRight(separator, " "))
	}
	for _, end := range []string{"\n", "\r\n", escapedBreak, ""} { // the tool left out blanks after the separator
		for _, separator := range []string{" |", "|", ":", "."} {
			if rest == separator+end {
				return end, true
			}
		}
	}
	return "", false
}

// thinRead returns a whole section of a read without the numbers that can be counted, and whether that is worth it.
func (res *toolResult) thinRead(s *dialect.Section) (string, bool) {
	if !res.sparse || len(s.Lines) < sparseFrom {
		return "", false
	}
	rows := rowsOf(res.text, s)
	if rows == nil {
		return "", false
	}
	text := (&torn{text: res.text, section: s, rows: rows, sparse: true}).rest(0, len(rows)-1)
	return text, len(text) < s.End-s.Start
}
