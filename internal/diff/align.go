package diff

import (
	"slices"
	"sort"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// change says that lines a0..a1 of the old text became lines b0..b1 of the
// new one (counted from 0, the end not included). One of them may be empty.
type change struct{ a0, a1, b0, b1 int }

const (
	// The library looks for the shortest answer up to this many changed
	// lines; past that it gives up on most of the text.
	exact = 100
	// Anchors are looked for between anchors, this often.
	maxDepth = 12
)

// aligner finds the changes between two texts, given as numbers of lines.
type aligner struct {
	a, b           []rune
	countA, countB []int32 // by line number; all zero between uses
	at             []int32 // place in b of a line that occurs there once
	changes        []change
}

// align returns the changes in ascending order, never touching each other.
// Texts of more than some lines are first divided at the lines that both have
// exactly once; between those, and in short texts, the library compares.
func align(a, b []rune, numbers int) []change {
	s := aligner{
		a: a, b: b,
		countA: make([]int32, numbers), countB: make([]int32, numbers), at: make([]int32, numbers),
	}
	s.compare(change{0, len(a), 0, len(b)}, 0)
	return slide(a, b, s.changes)
}

func (s *aligner) compare(x change, depth int) {
	for x.a0 < x.a1 && x.b0 < x.b1 && s.a[x.a0] == s.b[x.b0] {
		x.a0++
		x.b0++
	}
	for x.a0 < x.a1 && x.b0 < x.b1 && s.a[x.a1-1] == s.b[x.b1-1] {
		x.a1--
		x.b1--
	}
	if x.a0 == x.a1 || x.b0 == x.b1 {
		s.add(x)
		return
	}
	anchors, common := s.anchors(x)
	short := x.a1-x.a0+x.b1-x.b0 <= exact
	switch {
	case !common:
		s.add(x)
	case short || len(anchors) == 0 || depth == maxDepth:
		for _, d := range lcs.DiffRunes(s.a[x.a0:x.a1], s.b[x.b0:x.b1]) {
			s.add(change{x.a0 + d.Start, x.a0 + d.End, x.b0 + d.ReplStart, x.b0 + d.ReplEnd})
		}
	default:
		for _, p := range anchors {
			s.compare(change{x.a0, p.a, x.b0, p.b}, depth+1)
			x.a0, x.b0 = p.a+1, p.b+1
		}
		s.compare(x, depth+1)
	}
}

// add appends a change, or makes it one with the last if they touch.
func (s *aligner) add(c change) {
	if c.a0 == c.a1 && c.b0 == c.b1 {
		return
	}
	if n := len(s.changes); n > 0 && s.changes[n-1].a1 == c.a0 && s.changes[n-1].b1 == c.b0 {
		s.changes[n-1].a1, s.changes[n-1].b1 = c.a1, c.b1
		return
	}
	s.changes = append(s.changes, c)
}

type pair struct{ a, b int }

// anchors returns the longest row, ascending on both sides, of lines that
// occur once in each part of x, and whether the parts have any line in common.
func (s *aligner) anchors(x change) (row []pair, common bool) {
	a, b := s.a[x.a0:x.a1], s.b[x.b0:x.b1]
	for _, l := range a {
		s.countA[l]++
	}
	for j, l := range b {
		s.countB[l]++
		s.at[l] = int32(x.b0 + j)
	}
	var pairs []pair
	for i, l := range a {
		common = common || s.countB[l] > 0
		if s.countA[l] == 1 && s.countB[l] == 1 {
			pairs = append(pairs, pair{x.a0 + i, int(s.at[l])})
		}
	}
	for _, l := range a {
		s.countA[l] = 0
	}
	for _, l := range b {
		s.countB[l] = 0
	}
	return ascending(pairs), common
}

// ascending picks the most pairs whose places in b ascend. The pairs ascend
// in a.
func ascending(pairs []pair) []pair {
	before := make([]int, len(pairs)) // the pair to precede this one
	var ends []int                    // by length: the row of it that ends earliest in b
	for i, p := range pairs {
		n := sort.Search(len(ends), func(k int) bool { return pairs[ends[k]].b > p.b })
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	row := make([]pair, 0, len(ends))
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = before[i] {
			row = append(row, pairs[i])
		}
	}
	slices.Reverse(row)
	return row
}

// slide moves what was only added or only removed down as far as the text
// stays the same: a new function is shown from its first line to the blank
// line after it, not from the brace before. Changes that meet become one.
func slide(a, b []rune, changes []change) []change {
	end := len(changes) // changes[end:] are settled
	for i := len(changes) - 1; i >= 0; i-- {
		c := changes[i]
		stop := change{a0: len(a), b0: len(b)}
		for {
			if end < len(changes) {
				stop = changes[end]
			}
			if c.a1 == stop.a0 && c.b1 == stop.b0 {
				if end == len(changes) {
					break
				}
				c.a1, c.b1 = stop.a1, stop.b1
				stop = change{a0: len(a), b0: len(b)}
				end++
				continue
			}
			if !(c.b0 == c.b1 && a[c.a0] == a[c.a1] || c.a0 == c.a1 && b[c.b0] == b[c.b1]) {
				break
			}
			c = change{c.a0 + 1, c.a1 + 1, c.b0 + 1, c.b1 + 1}
		}
		end--
		changes[end] = c
	}
	return changes[end:]
}
