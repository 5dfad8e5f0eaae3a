package rawjson

import (
	"bytes"
	"fmt"
	"sort"
)

// Seam is the gap between two elements of an array, with the counts of what the elements before it were decoded to.
type Seam struct {
	At              int // offset of the end of the element before
	Messages, Parts int
}

// Walk records how a body, whose largest member is an array, was walked. A body with the same beginning can be walked from a seam.
// A Walk does not refer to the body.
type Walk struct {
	before Scanner // directly after it entered the array
	Fields []Span  // spans of the members before the array, as the caller took them
	Seams  []Seam  // in order
}

// Walk returns the walk of an array that s has just entered.
func (s *Scanner) Walk(fields []Span) Walk {
	before := *s
	before.body = nil
	return Walk{before: before, Fields: append([]Span(nil), fields...)}
}

// Walk walks the body, an object, into w. It calls elements once, with a Scanner that has just entered the array called list;
// elements must walk to its end. The other members named in keys are taken into fields. If s is not nil, the walk continues from s,
// a seam of w. Walk reports whether there was an array; a second one is an error.
func (d *Decoder) Walk(w *Walk, s *Scanner, list string, keys []string, fields []Span, elements func(*Scanner)) (found bool) {
	if found = s != nil; found {
		copy(fields, w.Fields)
		elements(s)
	} else {
		begin := Scanner{body: d.Body, pos: d.begin}
		s = &begin
		s.Enter('{')
	}
	for s.Next() && d.err == nil {
		switch named := string(s.Key()) == list; {
		case named && found:
			d.Fail(fmt.Errorf("%s: is there twice", list))
		case named && s.Kind() == '[':
			found = true
			s.Enter('[')
			*w = s.Walk(fields)
			elements(s)
		default:
			s.takeOne(keys, fields)
		}
	}
	if d.err == nil {
		d.Fail(s.End())
	}
	return found
}

// Cut records a seam at s.
func (w *Walk) Cut(s *Scanner, messages, parts int) {
	w.Seams = append(w.Seams, Seam{s.pos, messages, parts})
}

// Resume returns a Scanner of body at the last seam of w up to which body equals earlier, the body of w. It also returns the walk
// up to there. It returns false if there is no such seam. w does not change. same is a number of first bytes that are known to be equal.
func (w *Walk) Resume(body, earlier []byte, same int) (Scanner, Walk, bool) {
	same += common(body[same:], earlier[same:])
	n := sort.Search(len(w.Seams), func(i int) bool { return w.Seams[i].At > same })
	if n == 0 {
		return Scanner{}, Walk{}, false
	}
	s := w.before
	s.body, s.pos, s.fresh = body, w.Seams[n-1].At, false
	return s, Walk{before: w.before, Fields: w.Fields, Seams: w.Seams[:n:n]}, true
}

// Last returns the last seam.
func (w *Walk) Last() Seam { return w.Seams[len(w.Seams)-1] }

// common returns the length of the common beginning of a and b.
func common(a, b []byte) int {
	const step = 4 << 10
	n, i := min(len(a), len(b)), 0
	for i+step <= n && bytes.Equal(a[i:i+step], b[i:i+step]) {
		i += step
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}
