package diff

// run is a sequence of marked lines between two unmarked ones. It may be empty. A text with n unmarked lines has n+1 runs, so the
// runs of two aligned texts correspond.
type run struct {
	marks    []bool
	from, to int
}

func firstRun(marks []bool) run {
	r := run{marks: marks}
	r.stretch()
	return r
}

func (r *run) empty() bool { return r.from == r.to }

func (r *run) stretch() {
	for r.to < len(r.marks) && r.marks[r.to] {
		r.to++
	}
	for r.from > 0 && r.marks[r.from-1] {
		r.from--
	}
}

func (r *run) next() bool {
	if r.to == len(r.marks) {
		return false
	}
	r.from, r.to = r.to+1, r.to+1
	for r.to < len(r.marks) && r.marks[r.to] {
		r.to++
	}
	return true
}

func (r *run) prev() {
	r.from, r.to = r.from-1, r.from-1
	for r.from > 0 && r.marks[r.from-1] {
		r.from--
	}
}

// up moves the run one line towards the start, if the text stays the same, and joins it with a run that it then touches.
func (r *run) up(lines []int32) bool {
	if r.from == 0 || lines[r.from-1] != lines[r.to-1] {
		return false
	}
	r.from--
	r.to--
	r.marks[r.from], r.marks[r.to] = true, false
	r.stretch()
	return true
}

// down moves the run one line towards the end.
func (r *run) down(lines []int32) bool {
	if r.to == len(lines) || lines[r.from] != lines[r.to] {
		return false
	}
	r.marks[r.from], r.marks[r.to] = false, true
	r.from++
	r.to++
	r.stretch()
	return true
}

// slide moves marked runs that have several possible positions: next to a run of the other text if possible, otherwise as far down as
// possible. Runs that touch become one.
func (s *Aligner) slide(lines []int32, marks, otherMarks []bool) {
	g, other := firstRun(marks), firstRun(otherMarks)
	for {
		if !g.empty() {
			s.move(&g, &other, lines)
		}
		if s.Work <= 0 || !g.next() {
			return
		}
		other.next()
	}
}

// move is slide for one run.
func (s *Aligner) move(g, other *run, lines []int32) {
	var top int
	var adjacent bool
	for size := -1; size != g.to-g.from; {
		size = g.to - g.from
		for g.up(lines) {
			other.prev()
			s.Work--
		}
		top, adjacent = g.to, !other.empty()
		for g.down(lines) {
			other.next()
			s.Work--
			adjacent = adjacent || !other.empty()
		}
		if s.Work <= 0 {
			return
		}
	}
	if g.to == top || !adjacent {
		return
	}
	for other.empty() {
		g.up(lines)
		other.prev()
	}
}
