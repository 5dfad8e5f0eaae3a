package filetools

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/internal/diff"
	"github.com/stet-dev/stet/internal/edit"
)

// reencode returns the bytes of a text that replaces the text of a file. What the old
// text has too keeps its bytes, however they were encoded; of the edits that made the
// text, all that is outside of what they matched. (FILE-16)
func reencode(old *content, text string, enc workspace.Encoding, edits []edit.Edit) ([]byte, error) {
	if enc.OneForm() || old.version == "" || old.unreadable != nil || old.enc.WithBOM(false) != enc.WithBOM(false) {
		return enc.Encode(text)
	}
	var pieces []workspace.Piece
	if r, err := edit.Apply([]byte(old.text), edits); err == nil && string(r.Data) == text {
		for _, s := range r.Spans {
			pieces = append(pieces, workspace.Piece{Start: s.Start, End: s.End, New: text[s.NewStart:s.NewEnd]})
		}
	} else {
		pieces = changedPieces(old.text, text)
	}
	return enc.Splice(old.data, old.text, pieces)
}

// changedPieces are the characters in which two texts differ.
func changedPieces(old, text string) []workspace.Piece {
	var pieces []workspace.Piece
	lines, aligner, numbers := lineStarts(old), diff.Aligner{Work: diff.MaxWork}, map[rune]int32{}
	number := func(s string) (all []int32) {
		for _, r := range s {
			if _, ok := numbers[r]; !ok {
				numbers[r] = int32(len(numbers))
			}
			all = append(all, numbers[r])
		}
		return all
	}
	for _, h := range diff.Lines(old, text, diff.Options{Context: -1}).Hunks {
		first := h.OldStart - 1
		if h.OldLines == 0 {
			first = h.OldStart
		}
		from := lines[first]
		was := old[from:lines[first+h.OldLines]]
		var b strings.Builder
		for _, l := range h.Lines {
			if l.Kind == diff.Added {
				b.WriteString(l.Text)
			}
		}
		now, i, j, runesI, runesJ := b.String(), 0, 0, 0, 0
		x, y := number(was), number(now)
		for _, c := range aligner.Align(x, y, len(numbers)) {
			i, j = i+width(was[i:], c.A0-runesI), j+width(now[j:], c.B0-runesJ)
			endI, endJ := i+width(was[i:], c.A1-c.A0), j+width(now[j:], c.B1-c.B0)
			pieces = append(pieces, workspace.Piece{Start: from + i, End: from + endI, New: now[j:endJ]})
			i, j, runesI, runesJ = endI, endJ, c.A1, c.B1
		}
	}
	return pieces
}

// width is the length of the first n characters of s, in bytes.
func width(s string, n int) int {
	size := 0
	for range n {
		_, one := utf8.DecodeRuneInString(s[size:])
		size += one
	}
	return size
}

// lineStarts are the places where the lines of a text begin, and its end.
func lineStarts(text string) []int {
	starts := []int{0}
	for _, line := range splitLines(text) {
		starts = append(starts, starts[len(starts)-1]+len(line))
	}
	return starts
}

func splitLines(text string) []string { return slices.Collect(strings.Lines(text)) }
