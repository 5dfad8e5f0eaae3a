package diff

// Change says that lines A0..A1 of one text became lines B0..B1 of another
// (counted from 0, the end not included). One of the two may be empty.
type Change struct{ A0, A1, B0, B1 int }

// Aligner decides which lines of two texts correspond. If several answers are equally good, it returns the one of git, because the
// changed lines decide whether a merge is clean. An Aligner reuses its memory.
//
// Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), in linear
// space: from both corners of a box towards its middle, then the two halves.
type Aligner struct {
	// Work is the number of steps left. At 0 all lines not yet compared count as changed.
	Work int

	countA, countB []int32 // how often each line occurs; all zero between uses

	a, b       []int32 // the lines left after thinning
	placeA     []int   // index of a's lines in the whole text
	placeB     []int
	cutA, cutB []bool // the result: lines without a counterpart
	fore, back front
	patience   int // cost at which the search for the cheapest path stops
}

// MaxWork limits one comparison to some tenths of a second. Only megabytes of few different lines in another order come near it.
const MaxWork = 40_000_000

// Align returns the changes from a to b in ascending order; two changes never touch. Lines are numbers below lines; equal numbers
// mean equal text.
func (s *Aligner) Align(a, b []int32, lines int) []Change {
	if len(s.countA) < lines {
		s.countA, s.countB = make([]int32, lines), make([]int32, lines)
	}
	s.cutA, s.cutB = make([]bool, len(a)), make([]bool, len(b))

	head, tail := ends(a, b)
	s.thin(a, b, head, tail)
	diagonals := len(s.a) + len(s.b) + 3
	s.fore.fit(diagonals, len(s.b)+1)
	s.back.fit(diagonals, len(s.b)+1)
	s.patience = max(roughRoot(diagonals), minPatience)
	s.compare(box{0, len(s.a), 0, len(s.b)}, false)

	s.slide(a, s.cutA, s.cutB)
	s.slide(b, s.cutB, s.cutA)
	return changes(s.cutA, s.cutB)
}

// ends returns the number of equal lines at the start, and at the end of the rest.
func ends(a, b []int32) (head, tail int) {
	n := min(len(a), len(b))
	for head < n && a[head] == b[head] {
		head++
	}
	for tail < n-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return head, tail
}

// compare marks the lines of a box that have no counterpart in it.
func (s *Aligner) compare(x box, thorough bool) {
	for {
		for x.a0 < x.a1 && x.b0 < x.b1 && s.a[x.a0] == s.b[x.b0] {
			x.a0++
			x.b0++
		}
		for x.a0 < x.a1 && x.b0 < x.b1 && s.a[x.a1-1] == s.b[x.b1-1] {
			x.a1--
			x.b1--
		}
		if x.a0 == x.a1 || x.b0 == x.b1 || s.Work <= 0 {
			break
		}
		c, ok := s.divide(x, thorough)
		if !ok {
			break
		}
		s.compare(box{x.a0, c.a, x.b0, c.b}, c.thoroughBefore)
		x.a0, x.b0, thorough = c.a, c.b, c.thoroughAfter
	}
	for i := x.a0; i < x.a1; i++ {
		s.cutA[s.placeA[i]] = true
	}
	for j := x.b0; j < x.b1; j++ {
		s.cutB[s.placeB[j]] = true
	}
}

// changes turns the marks on both sides into ranges. Unmarked lines correspond in order, so both sides have the same number of
// them.
func changes(cutA, cutB []bool) []Change {
	var all []Change
	for i, j := 0, 0; i < len(cutA) || j < len(cutB); i, j = i+1, j+1 {
		c := Change{A0: i, B0: j}
		for i < len(cutA) && cutA[i] {
			i++
		}
		for j < len(cutB) && cutB[j] {
			j++
		}
		if i > c.A0 || j > c.B0 {
			c.A1, c.B1 = i, j
			all = append(all, c)
		}
	}
	return all
}
