package diff

// How many lines of the other text equal a line.
const (
	alone = iota // none
	few
	many
)

const (
	maxFew     = 1024 // from this many on, equal lines are many in any text
	window     = 100  // lines looked at before and after a frequent one
	manyWeight = 4
)

// thin leaves out lines that cannot or should not guide the comparison: lines without an equal in the other text, and frequent
// lines (blank lines, braces) between such lines. They count as changed. The remaining lines, without the equal ends, go to s.a and
// s.b.
func (s *Aligner) thin(a, b []int32, head, tail int) {
	for _, l := range a {
		s.countA[l]++
	}
	for _, l := range b {
		s.countB[l]++
	}
	s.a, s.placeA = pick(a, s.countB, head, tail, s.cutA, s.a[:0], s.placeA[:0])
	s.b, s.placeB = pick(b, s.countA, head, tail, s.cutB, s.b[:0], s.placeB[:0])
	for _, l := range a {
		s.countA[l] = 0
	}
	for _, l := range b {
		s.countB[l] = 0
	}
}

func pick(lines, counts []int32, head, tail int, cut []bool, kept []int32, places []int) ([]int32, []int) {
	limit := int32(min(roughRoot(len(lines)), maxFew))
	mid := lines[head : len(lines)-tail]
	grades := make([]byte, len(mid))
	for i, l := range mid {
		switch n := counts[l]; {
		case n == 0:
			grades[i] = alone
		case n < limit:
			grades[i] = few
		default:
			grades[i] = many
		}
	}
	near := newVicinity(grades)
	for i, l := range mid {
		if grades[i] == alone || grades[i] == many && near.deserted(i) {
			cut[head+i] = true
			continue
		}
		kept = append(kept, l)
		places = append(places, head+i)
	}
	return kept, places
}

// vicinity describes the lines around a frequent line: up to the nearest line with few equals on each side, or the end of the
// window.
type vicinity struct {
	alone    []int32 // number of lines without an equal before line i
	previous []int32 // the nearest line with few equals before line i, or -1
	next     []int32 // the nearest line with few equals after it, or the number of lines
}

func newVicinity(grades []byte) vicinity {
	n := len(grades)
	v := vicinity{make([]int32, n+1), make([]int32, n), make([]int32, n)}
	at := int32(-1)
	for i, g := range grades {
		v.previous[i], v.alone[i+1] = at, v.alone[i]
		switch g {
		case few:
			at = int32(i)
		case alone:
			v.alone[i+1]++
		}
	}
	at = int32(n)
	for i := n - 1; i >= 0; i-- {
		v.next[i] = at
		if grades[i] == few {
			at = int32(i)
		}
	}
	return v
}

// deserted reports whether frequent line i has lines without an equal on both sides, and more than three times as many of them as
// frequent lines. The line itself counts twice, once for each side.
func (v vicinity) deserted(i int) bool {
	from := max(int(v.previous[i])+1, i-window)
	to := min(int(v.next[i]), i+window+1)
	before, after := v.alone[i]-v.alone[from], v.alone[to]-v.alone[i]
	frequent := int32(to-from) - before - after + 1
	return before > 0 && after > 0 && frequent*manyWeight < frequent+before+after
}

// roughRoot is a power of two near the square root of n.
func roughRoot(n int) int {
	r := 1
	for ; n > 0; n >>= 2 {
		r <<= 1
	}
	return r
}
