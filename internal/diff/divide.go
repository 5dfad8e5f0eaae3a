package diff

// box is a part of both texts that remains to be compared.
type box struct{ a0, a1, b0, b1 int }

// cut is where to divide a box. It says for each half whether to search it without short cuts.
type cut struct {
	a, b                          int
	thoroughBefore, thoroughAfter bool
}

const (
	minPatience = 256 // cost before short cuts are taken
	longRun     = 20  // equal lines in a row that are worth a short cut
	farEnough   = 4   // progress that a short cut needs, in costs
	beyond      = int(^uint(0) >> 1)
)

// front has the furthest points of the paths of one cost, by diagonal (index in a minus index in b), on every second diagonal from
// lo to hi.
type front struct {
	reach  []int
	origin int
	lo, hi int
}

func (f *front) fit(diagonals, origin int) {
	if cap(f.reach) < diagonals {
		f.reach = make([]int, diagonals)
	}
	f.reach, f.origin = f.reach[:diagonals], origin
}

func (f *front) start(diagonal, at int) {
	f.lo, f.hi = diagonal, diagonal
	f.reach[f.origin+diagonal] = at
}

// widen adds one diagonal at each end, or removes one if the box (diagonals min to max) ends. outside is a value that no path
// reaches.
func (f *front) widen(min, max, outside int) {
	if f.lo > min {
		f.lo--
		f.reach[f.origin+f.lo-1] = outside
	} else {
		f.lo++
	}
	if f.hi < max {
		f.hi++
		f.reach[f.origin+f.hi+1] = outside
	} else {
		f.hi--
	}
}

// divide finds a point on a cheapest path through the box, or, if that takes too long, on a good path. It fails when the work is
// used up.
func (s *Aligner) divide(x box, thorough bool) (cut, bool) {
	lo, hi := x.a0-x.b1, x.a1-x.b0
	fore, back := &s.fore, &s.back
	fore.start(x.a0-x.b0, x.a0)
	back.start(x.a1-x.b1, x.a1)
	odd := (x.a0-x.b0-x.a1+x.b1)&1 != 0
	for cost := 1; s.Work > 0; cost++ {
		fore.widen(lo, hi, -1)
		at, met, ran := s.forward(x, odd)
		if met {
			return at, true
		}
		back.widen(lo, hi, beyond)
		at, met, ranBack := s.backward(x, !odd)
		if met {
			return at, true
		}
		if thorough {
			continue
		}
		if (ran || ranBack) && cost > minPatience {
			if at, ok := s.shortCut(x, cost); ok {
				return at, true
			}
		}
		if cost >= s.patience {
			return s.furthest(x), true
		}
	}
	return cut{}, false
}

// forward extends every forward path by one step and by all equal lines after it. It returns where a path has met a backward path,
// if look is set, and whether there was a long run of equal lines.
func (s *Aligner) forward(x box, look bool) (at cut, met, ran bool) {
	f, o := s.fore.reach, s.fore.origin
	for d := s.fore.hi; d >= s.fore.lo; d -= 2 {
		i := f[o+d+1]
		if before := f[o+d-1]; before >= i {
			i = before + 1
		}
		from := i
		for i < x.a1 && i-d < x.b1 && s.a[i] == s.b[i-d] {
			i++
		}
		ran = ran || i-from > longRun
		s.Work -= 1 + i - from
		f[o+d] = i
		if look && s.back.lo <= d && d <= s.back.hi && s.back.reach[o+d] <= i {
			return cut{i, i - d, true, true}, true, ran
		}
	}
	return cut{}, false, ran
}

// backward is forward from the other corner.
func (s *Aligner) backward(x box, look bool) (at cut, met, ran bool) {
	f, o := s.back.reach, s.back.origin
	for d := s.back.hi; d >= s.back.lo; d -= 2 {
		i := f[o+d-1]
		if after := f[o+d+1]; after <= i {
			i = after - 1
		}
		from := i
		for i > x.a0 && i-d > x.b0 && s.a[i-1] == s.b[i-d-1] {
			i--
		}
		ran = ran || from-i > longRun
		s.Work -= 1 + from - i
		f[o+d] = i
		if look && s.fore.lo <= d && d <= s.fore.hi && i <= s.fore.reach[o+d] {
			return cut{i, i - d, true, true}, true, ran
		}
	}
	return cut{}, false, ran
}

// shortCut looks for the path that has come furthest for its cost and ends in a long run of equal lines, first forward, then
// backward.
func (s *Aligner) shortCut(x box, cost int) (at cut, ok bool) {
	best := farEnough * cost
	o := s.fore.origin
	for d := s.fore.hi; d >= s.fore.lo; d -= 2 {
		i := s.fore.reach[o+d]
		j := i - d
		far := (i - x.a0) + (j - x.b0) - abs(d-x.a0+x.b0)
		if far > best && x.a0+longRun <= i && i < x.a1 && x.b0+longRun <= j && j < x.b1 &&
			s.same(i-longRun, j-longRun) {
			best, at, ok = far, cut{i, j, true, false}, true
		}
	}
	if ok {
		return at, true
	}
	for d := s.back.hi; d >= s.back.lo; d -= 2 {
		i := s.back.reach[o+d]
		j := i - d
		far := (x.a1 - i) + (x.b1 - j) - abs(d-x.a1+x.b1)
		if far > best && x.a0 < i && i <= x.a1-longRun && x.b0 < j && j <= x.b1-longRun &&
			s.same(i, j) {
			best, at, ok = far, cut{i, j, false, true}, true
		}
	}
	return at, ok
}

func (s *Aligner) same(i, j int) bool {
	for k := range longRun {
		if s.a[i+k] != s.b[j+k] {
			return false
		}
	}
	return true
}

// furthest ends a search that costs too much. It returns the end of the path, from either corner, that has passed the most lines.
func (s *Aligner) furthest(x box) cut {
	o := s.fore.origin
	foreSum, foreAt := -1, -1
	for d := s.fore.hi; d >= s.fore.lo; d -= 2 {
		i := min(s.fore.reach[o+d], x.a1)
		if i-d > x.b1 {
			i = x.b1 + d
		}
		if sum := 2*i - d; sum > foreSum {
			foreSum, foreAt = sum, i
		}
	}
	backSum, backAt := beyond, beyond
	for d := s.back.hi; d >= s.back.lo; d -= 2 {
		i := max(s.back.reach[o+d], x.a0)
		if i-d < x.b0 {
			i = x.b0 + d
		}
		if sum := 2*i - d; sum < backSum {
			backSum, backAt = sum, i
		}
	}
	if x.a1+x.b1-backSum < foreSum-x.a0-x.b0 {
		return cut{foreAt, foreSum - foreAt, true, false}
	}
	return cut{backAt, backSum - backAt, false, true}
}

func abs(n int) int { return max(n, -n) }
