// Package edit replaces pieces of a file, named by their text. Every byte outside of them stays unchanged.
//
// A text must occur exactly, with one exception: "\n" in it matches LF and CRLF, while "\r\n" matches only CRLF. A match never
// begins or ends inside a CRLF. All texts are searched in the original file. Either all edits are made or none.
//
// The new text takes the line ends of its place: those of the replaced lines in order, then the last of them. If it replaces no
// line end, it takes the line end of its line. Lines at the start and the end that old and new text share are not replaced, so
// their line ends stay. An edit that changes only line ends writes them as given.
//
// Files are bytes: UTF-8, with or without a byte order mark, or another encoding that the caller has decoded. The passed data is
// never changed.
package edit

import (
	"bytes"
	"index/suffixarray"
	"slices"
	"sort"
	"strings"
)

// Edit is one replacement. Old must occur once, or, with All, at least once;
// with All every occurrence is replaced, from the start on.
type Edit struct {
	Old, New string
	All      bool
}

// Result is an edited file. Data is a new slice; Spans are in ascending order.
type Result struct {
	Data  []byte
	Spans []Span
}

// Span is one replacement: bytes Start to End of the old file became bytes NewStart to NewEnd of the new one. The bytes between
// spans are equal.
type Span struct {
	Start, End       int
	NewStart, NewEnd int
	Edit             int // index of the edit
}

// Apply makes the edits. Every error is an *Error. Without edits the result is
// a copy.
func Apply(data []byte, edits []Edit) (Result, error) {
	f := newFile(data)
	if len(edits) >= manyEdits {
		f.index = suffixarray.New(f.flat)
	}
	var all []match
	covered := 0 // bytes of all matches together
	for i, e := range edits {
		found, err := f.locate(e)
		if err != nil {
			err.Edit = i
			return Result{}, err
		}
		for j := range found {
			found[j].edit = i
			covered += found[j].end - found[j].start
		}
		all = append(all, found...)
		if covered > len(data) {
			break // matches overlap, which is an error
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].start < all[j].start })
	for i := 1; i < len(all); i++ {
		if last, m := all[i-1], all[i]; m.start < last.end {
			return Result{}, &Error{
				Edit: max(m.edit, last.edit), Other: min(m.edit, last.edit),
				Reason: Overlap, Lines: []int{f.line(m.start)}, Matches: 1,
			}
		}
	}
	return f.splice(edits, all)
}

// match is a place of an old text, in bytes of the file.
type match struct{ start, end, edit int }

// splice makes the new file.
func (f *file) splice(edits []Edit, all []match) (Result, error) {
	cores := make([]core, len(edits))
	size := len(f.data)
	for i, e := range edits {
		cores[i] = newCore(e)
	}
	for _, m := range all {
		size += len(edits[m.edit].New) - (m.end - m.start) + cores[m.edit].lineEnds
	}
	r := Result{Data: make([]byte, 0, max(size, 0)), Spans: make([]Span, 0, len(all))}
	changed := make([]bool, len(edits))
	next, ends := 0, lineEnds{data: f.data}
	for _, m := range all {
		c := &cores[m.edit]
		start, end := f.skip(m, c.before, c.after)
		r.Data = append(r.Data, f.data[next:start]...)
		s := Span{Start: start, End: end, NewStart: len(r.Data), Edit: m.edit}
		r.Data = c.write(r.Data, f.data[start:end], &ends, start)
		s.NewEnd = len(r.Data)
		if !bytes.Equal(f.data[start:end], r.Data[s.NewStart:]) {
			changed[m.edit] = true
			r.Spans = append(r.Spans, s)
		}
		next = end
	}
	r.Data = append(r.Data, f.data[next:]...)
	if i := slices.Index(changed, false); i >= 0 {
		return Result{}, &Error{Edit: i, Reason: NoChange}
	}
	return r, nil
}

// core is an edit without the unchanged lines.
type core struct {
	before, after int      // unchanged lines at the start and the end of the match
	lines         []string // the new text's lines, each with its end
	lineEnds      int
	literal       bool // only line ends change: they are written as given
}

func newCore(e Edit) core {
	c := core{lines: slices.Collect(strings.Lines(e.New)), lineEnds: strings.Count(e.New, "\n")}
	old := slices.Collect(strings.Lines(e.Old))
	if unify(e.Old) == unify(e.New) {
		c.literal = true
		return c
	}
	for i := range old {
		old[i] = unify(old[i])
	}
	whole := func(i, j int) bool {
		return strings.HasSuffix(old[i], "\n") && old[i] == unify(c.lines[j])
	}
	n := min(len(old), len(c.lines))
	for c.before < n && whole(c.before, c.before) {
		c.before++
	}
	// The first line may be only the end of a line of the file; it can stay like any other. The last line can also stay if both
	// have no line end.
	for c.after < n-c.before && old[len(old)-1-c.after] == unify(c.lines[len(c.lines)-1-c.after]) {
		c.after++
	}
	c.lines = c.lines[c.before : len(c.lines)-c.after]
	return c
}

func unify(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// write appends the new lines to dst. Their line ends are those of old, the replaced bytes at start.
func (c *core) write(dst, old []byte, ends *lineEnds, start int) []byte {
	end := ""
	for _, line := range c.lines {
		text, has := strings.CutSuffix(line, "\n")
		if has && !c.literal {
			if i := bytes.IndexByte(old, '\n'); i >= 0 {
				end, old = lineEnd(old, i), old[i+1:]
			} else if end == "" {
				end = ends.at(start)
			}
			text = strings.TrimSuffix(text, "\r")
			dst = append(append(dst, text...), end...)
			continue
		}
		dst = append(dst, line...)
	}
	return dst
}
