package history

// run is lines from up to, not including, to of a text that has just arrived,
// and where the very same lines stand above: from line at of a text on.
type run struct {
	from, to int
	text, at int // indexes: of file.texts, and of the lines there
}

func (r run) len() int { return r.to - r.from }

// maxCandidates is how many places a line is looked for in.
const maxCandidates = 12

// minRun is how many lines of a result are worth pointing to.
const minRun = 3

// reach tells which texts may be pointed to.
type reach struct {
	own  place // not the result itself
	from int   // none before this byte of the request
}

func (r reach) see(t *text) bool { return t.result != r.own && t.at >= r.from }

// match returns the runs of lines that stand in the request already, in order
// and without overlap, the longest from the top first. first is the number of
// lines[0]; only texts within reach count. Runs of few lines are left out, but
// of what a call wrote.
func (f *file) match(first int, lines []string, may reach) []run {
	var out []run
	floor := 0 // lines before it are taken
	for k := 0; k < len(lines); {
		r := f.longest(first, lines, k, may)
		if r.len() == 0 {
			k++
			continue
		}
		for t := &f.texts[r.text]; r.from > floor && r.at > 0 && t.lines[r.at-1] == lines[r.from-1]; {
			r.from, r.at = r.from-1, r.at-1
		}
		k, floor = r.to, r.to
		if r.len() >= minRun || f.texts[r.text].written {
			out = append(out, r)
		}
	}
	return out
}

// longest returns the longest run that begins at line k. Of equal ones it is
// the one under the same numbers, then the newest.
func (f *file) longest(first int, lines []string, k int, may reach) run {
	best := run{from: k, to: k}
	try := func(i, at int) {
		t := &f.texts[i]
		if n := common(lines[k:], t.lines[at:]); n > best.len() && may.see(t) {
			best = run{k, k + n, i, at}
		}
	}
	for i := len(f.texts) - 1; i >= max(0, len(f.texts)-maxCandidates); i-- {
		if at := first + k - f.texts[i].first; f.texts[i].first > 0 && at >= 0 && at < len(f.texts[i].lines) {
			try(i, at)
		}
	}
	if best.to == len(lines) || len(lines[k]) < minIndexed {
		return best
	}
	f.index.add(f.texts)
	e := f.index.find(f.texts, lines[k])
	for n := 0; e > 0 && n < maxCandidates; n++ {
		p := &f.index.places[e-1]
		try(int(p.text), int(p.line))
		e = p.older
	}
	return best
}

// common returns how many lines a and b begin with in common.
func common(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
