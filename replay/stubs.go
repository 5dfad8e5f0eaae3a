package replay

import "github.com/stet-dev/stet/dialect"

// pointsBack says that a result is the agent's own stub ("unchanged since the
// last read"), and which result it means.
type pointsBack struct{ stub, source int } // blocks

// reads follows the reads of a context, to tell what a stub means: the last
// read of the file with the same arguments, or else the last one.
type reads map[string][]readAt

type readAt struct {
	block int
	args  string
}

// result takes in the result in block at. It reports what it means where it is
// a stub, and false where it is none or means nothing that is in the context.
func (rs reads) result(r *recording, at int) (pointsBack, bool) {
	c := r.callOf(at)
	if c == nil {
		return pointsBack{}, false
	}
	table := dialect.Default()
	action := table.Action(c.Name, c.Args)
	if action.Op != dialect.Read {
		return pointsBack{}, false
	}
	p := r.parts[at].part
	res := table.Result(action, p.Text, p.IsError)
	if res.Failed {
		return pointsBack{}, false
	}
	stub := res.Unchanged
	for i := range res.Sections {
		stub = stub || res.Sections[i].Unchanged
	}
	for _, t := range action.Targets {
		if !stub {
			rs[t.Path] = append(rs[t.Path], readAt{at, c.Args})
			continue
		}
		before := rs[t.Path]
		for i := len(before) - 1; i >= 0; i-- {
			if before[i].args == c.Args {
				return pointsBack{at, before[i].block}, true
			}
		}
		if len(before) > 0 {
			return pointsBack{at, before[len(before)-1].block}, true
		}
	}
	return pointsBack{}, false
}

// checkStubs looks for stubs of the agent whose text was left out.
func (l *lane) checkStubs(end int) {
	for _, s := range l.rec.stubs {
		if s.stub < l.base || s.stub >= end || s.source < l.base || l.dangling[s.stub] {
			continue
		}
		if _, cut := l.view.edited[s.stub]; cut || l.view.uncut([]int32{int32(s.source)}) {
			continue
		}
		if !l.showsAll(s.source) {
			l.dangling[s.stub] = true
		}
	}
}

// showsAll reports whether every line that a block may be meant for stands
// somewhere in the request.
func (l *lane) showsAll(at int) bool {
	for _, forms := range l.rec.content(at) {
		if !l.view.shows(forms) {
			return false
		}
	}
	return true
}
