package trim

// run is lines from up to, not including, to of a text that has just arrived,
// and where the very same lines stand above: in a passage, from line at on.
type run struct {
	from, to int // indexes of the lines
	passage  *passage
	at       int // index of passage.lines
}

func (r run) len() int { return r.to - r.from }

// lineCount returns how many lines the runs hold.
func lineCount(runs []run) int {
	n := 0
	for _, r := range runs {
		n += r.len()
	}
	return n
}

// maxCandidates is in how many places a line is looked for.
const maxCandidates = 24

// minRun is how many lines of a result are worth a pointer, and minOtherRun how many
// where they stand in another file.
const (
	minRun      = 3
	minOtherRun = 6
)

// reach tells which passages a pointer may name.
type reach struct {
	own      PartRef // not those of the result itself
	from     int     // none before this byte of the request
	stripped bool    // as the lines that are looked for, see dialect.Section
}

func (r reach) includes(p *passage) bool {
	return p.source.at != r.own && p.offset >= r.from && (p.stripped == r.stripped || p.written)
}

// match returns the runs of lines that stand in the request already, in order
// and without overlap. From the top, the longest is taken first. first is the number
// of lines[0]. Runs of few lines are left out, except of what a call wrote.
func (f *file) match(first int, lines []string, may reach) []run {
	var out []run
	taken := 0 // lines
	for k := 0; k < len(lines); {
		own, other := f.longest(first, lines, k, may)
		own, other = own.extendBack(lines, taken), other.extendBack(lines, taken)
		switch {
		case own.len() >= minRun || own.len() > 0 && own.passage.written:
			out = append(out, own)
			k, taken = own.to, own.to
		case other.len() >= minOtherRun:
			out = append(out, other)
			k, taken = other.to, other.to
		default:
			k++
		}
	}
	return out
}

// extendBack returns a run with the lines before it that stand before it in the
// passage too, down to line taken.
func (r run) extendBack(lines []string, taken int) run {
	if r.len() == 0 {
		return r
	}
	for r.from > taken && r.at > 0 && r.passage.lines[r.at-1] == lines[r.from-1] {
		r.from, r.at = r.from-1, r.at-1
	}
	return r
}

// longest returns the longest run that begins at line k: of the file's own passages,
// and of those of other files. Of equal ones it is the one under the same numbers,
// then the newest.
func (f *file) longest(first int, lines []string, k int, may reach) (own, other run) {
	own, other = run{from: k, to: k}, run{from: k, to: k}
	try := func(i, at int) {
		p := &f.ledger.passages[i]
		best := &own
		if p.file != f {
			best = &other
		}
		if n := common(lines[k:], p.lines[at:]); n > best.len() && may.includes(p) {
			*best = run{k, k + n, p, at}
		}
	}
	for n := len(f.passages) - 1; n >= max(0, len(f.passages)-maxCandidates); n-- {
		i := f.passages[n]
		p := &f.ledger.passages[i]
		if at := first + k - p.first; p.first > 0 && at >= 0 && at < len(p.lines) {
			try(i, at)
		}
	}
	if own.to == len(lines) || len(lines[k]) < minIndexed {
		return own, other
	}
	n := 0
	for i, at := range f.ledger.places(lines[k]) {
		try(i, at)
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
