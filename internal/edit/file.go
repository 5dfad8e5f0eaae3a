package edit

import (
	"bytes"
	"index/suffixarray"
	"slices"
	"sort"
	"strings"
)

// file has a file's bytes, and the same with LF for every CRLF, in which texts are searched.
type file struct {
	data []byte
	flat []byte
	crlf []int // places in flat of the LFs that were CRLF

	index *suffixarray.Index // of flat, if there are many edits; otherwise nil
}

// manyEdits is the number of edits from which an index is built. With fewer edits, it is faster to search the file for each.
const manyEdits = 200

func newFile(data []byte) *file {
	f := &file{data: data, flat: data}
	n := bytes.Count(data, []byte("\r\n"))
	if n == 0 {
		return f
	}
	f.crlf = make([]int, 0, n)
	f.flat = make([]byte, 0, len(data)-n)
	for rest := data; ; {
		i := bytes.Index(rest, []byte("\r\n"))
		if i < 0 {
			f.flat = append(f.flat, rest...)
			return f
		}
		f.flat = append(f.flat, rest[:i]...)
		f.crlf = append(f.crlf, len(f.flat))
		f.flat = append(f.flat, '\n')
		rest = rest[i+2:]
	}
}

// place returns the offset in data of byte i of flat.
func (f *file) place(i int) int {
	return i + sort.SearchInts(f.crlf, i)
}

// line is the number, from 1, of the line that byte i of data is in.
func (f *file) line(i int) int { return bytes.Count(f.data[:i], []byte("\n")) + 1 }

// maxMatches limits the count of matches for a text that should be unique.
const maxMatches = 100

// locate returns the place of an edit, or with All its places, in ascending order.
func (f *file) locate(e Edit) ([]match, *Error) {
	switch {
	case e.Old == "":
		return nil, &Error{Reason: EmptyOld}
	case e.Old == e.New:
		return nil, &Error{Reason: NoChange}
	}
	limit, overlapping := maxMatches+1, true
	if e.All {
		limit, overlapping = -1, false
	}
	found, all := f.find(e.Old, limit, overlapping)
	switch {
	case len(found) == 0 || !all:
		return nil, &Error{Reason: NotFound, Near: f.near(e.Old)}
	case len(found) > 1 && !e.All:
		return nil, f.ambiguous(found)
	}
	return found, nil
}

func (f *file) ambiguous(found []match) *Error {
	e := &Error{Reason: Ambiguous, Matches: len(found)}
	if len(found) > maxMatches {
		e.Matches, e.More = maxMatches, true
	}
	line, from := 1, 0
	for _, m := range found[:e.Matches] {
		line += bytes.Count(f.data[from:m.start], []byte("\n"))
		from = m.start
		if n := len(e.Lines); n == 0 || e.Lines[n-1] != line {
			e.Lines = append(e.Lines, line)
		}
	}
	return e
}

// maxWrongEnds limits the bytes that are compared at places where a text with CRLF occurs with other line ends.
const maxWrongEnds = 1 << 28

// find returns up to limit places of text; -1: all. overlapping says whether overlapping places all count, or only the first. all is
// false if too many places have other line ends, so that there may be more.
func (f *file) find(text string, limit int, overlapping bool) (found []match, all bool) {
	flat := []byte(unify(text))
	strict := strictEnds(text)
	next := f.search(flat)
	wrong := 0
	for from := 0; len(found) != limit; {
		i := next(from)
		if i < 0 {
			break
		}
		if !f.allCRLF(i, strict) {
			if wrong += len(flat); wrong > maxWrongEnds {
				return nil, false
			}
			from = i + 1
			continue
		}
		found = append(found, match{start: f.place(i), end: f.place(i + len(flat))})
		from = i + 1
		if !overlapping {
			from = i + len(flat)
		}
	}
	return found, true
}

// search returns a function that finds the first place of text in flat from byte from on, or -1. It must be called with ascending
// from.
func (f *file) search(text []byte) func(from int) int {
	if f.index == nil {
		return func(from int) int {
			i := bytes.Index(f.flat[from:], text)
			if i < 0 {
				return -1
			}
			return from + i
		}
	}
	all := f.index.Lookup(text, -1)
	slices.Sort(all)
	return func(from int) int {
		for len(all) > 0 && all[0] < from {
			all = all[1:]
		}
		if len(all) == 0 {
			return -1
		}
		return all[0]
	}
}

// strictEnds returns the places of an LF that was CRLF, in the text with LFs.
func strictEnds(text string) []int {
	var strict []int
	for i, n := 0, 0; ; n++ {
		j := strings.Index(text[i:], "\r\n")
		if j < 0 {
			return strict
		}
		i += j + 2
		strict = append(strict, i-2-n)
	}
}

func (f *file) allCRLF(at int, strict []int) bool {
	for _, offset := range strict {
		k := sort.SearchInts(f.crlf, at+offset)
		if k == len(f.crlf) || f.crlf[k] != at+offset {
			return false
		}
	}
	return true
}

// skip removes lines at the start and the end from a match. The last line of a match counts as a line even without its line end.
func (f *file) skip(m match, before, after int) (start, end int) {
	start, end = m.start, m.end
	for range before {
		start += bytes.IndexByte(f.data[start:end], '\n') + 1
	}
	for range after {
		text := f.data[start:end]
		end = start + bytes.LastIndexByte(text[:max(len(text)-1, 0)], '\n') + 1
	}
	return start, end
}

// lineEnds finds the line ends at ascending places.
type lineEnds struct {
	data []byte
	next int // the last line end found
	end  string
}

// at returns the line end after byte i. In a last line without a line end, it returns that of the line before; if there is none,
// LF.
func (l *lineEnds) at(i int) string {
	if l.end != "" && i <= l.next {
		return l.end
	}
	if j := bytes.IndexByte(l.data[i:], '\n'); j >= 0 {
		l.next = i + j
	} else if j := bytes.LastIndexByte(l.data[:i], '\n'); j >= 0 {
		l.next, l.end = len(l.data), lineEnd(l.data, j)
		return l.end
	} else {
		l.next, l.end = len(l.data), "\n"
		return l.end
	}
	l.end = lineEnd(l.data, l.next)
	return l.end
}

// lineEnd returns the line end whose LF is at i.
func lineEnd(data []byte, i int) string {
	if i > 0 && data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}
