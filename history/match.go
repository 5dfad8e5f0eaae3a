package history

// run is lines from up to, not including, to of a text that has just arrived,
// and where the very same lines stand above: from line at of a text on.
type run struct {
	from, to int
	text, at int // indexes: of file.texts, and of the lines there
}

func (r run) len() int { return r.to - r.from }

// maxCandidates is how many places a line is looked for in.
const maxCandidates = 24

// minRun is how many lines of a result are worth pointing to, and minOther how
// many where they stand in another file.
const (
	minRun   = 3
	minOther = 6
)

// reach tells which texts may be pointed to.
type reach struct {
	own      place // not the result itself
	from     int   // none before this byte of the request
	stripped bool  // as the lines that are looked for, see dialect.Section
}

func (r reach) see(t *text) bool {
	return t.result != r.own && t.at >= r.from && (t.stripped == r.stripped || t.written)
}

// match returns the runs of lines that stand in the request already, in order
// and without overlap, the longest from the top first. first is the number of
// lines[0]; only texts within reach count. Runs of few lines are left out, but
// of what a call wrote.
func (f *file) match(first int, lines []string, may reach) []run {
	var out []run
	floor := 0 // lines before it are taken
	for k := 0; k < len(lines); {
		own, other := f.longest(first, lines, k, may)
		switch own, other = f.back(own, lines, floor), f.back(other, lines, floor); {
		case own.len() >= minRun || own.len() > 0 && f.ledger.texts[own.text].written:
			out = append(out, own)
			k, floor = own.to, own.to
		case other.len() >= minOther:
			out = append(out, other)
			k, floor = other.to, other.to
		default:
			k++
		}
	}
	return out
}

// back returns a run with the lines before it that stand before it there too,
// down to floor.
func (f *file) back(r run, lines []string, floor int) run {
	if r.len() == 0 {
		return r
	}
	for t := &f.ledger.texts[r.text]; r.from > floor && r.at > 0 && t.lines[r.at-1] == lines[r.from-1]; {
		r.from, r.at = r.from-1, r.at-1
	}
	return r
}

// longest returns the longest run that begins at line k, of the file's own texts
// and of others. Of equal ones it is the one under the same numbers, then the
// newest.
func (f *file) longest(first int, lines []string, k int, may reach) (own, other run) {
	own, other = run{from: k, to: k}, run{from: k, to: k}
	try := func(i, at int) {
		t := &f.ledger.texts[i]
		best := &own
		if t.file != f {
			best = &other
		}
		if n := common(lines[k:], t.lines[at:]); n > best.len() && may.see(t) {
			*best = run{k, k + n, i, at}
		}
	}
	for n := len(f.texts) - 1; n >= max(0, len(f.texts)-maxCandidates); n-- {
		i := f.texts[n]
		t := &f.ledger.texts[i]
		if at := first + k - t.first; t.first > 0 && at >= 0 && at < len(t.lines) {
			try(i, at)
		}
	}
	if own.to == len(lines) || len(lines[k]) < minIndexed {
		return own, other
	}
	n := 0
	for t, at := range f.ledger.places(lines[k]) {
		try(t, at)
		if n++; n == maxCandidates {
			break
		}
	}
	return own, other
}

// common returns how many lines a and b begin with in common.
func common(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
