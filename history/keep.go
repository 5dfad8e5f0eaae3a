package history

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/stet-dev/stet/dialect"
)

// keepLatest is the source document's rule: the newest K reads of each file
// and the newest N outputs of commands stay whole, older ones become one line
// (TRIM-2, 13). Failed results stay and do not count (TRIM-3).
func (f *State) keepLatest() *Plan {
	p := &Plan{Stats: Stats{Reads: f.plan.Reads}}
	if f.engine.config.ChecksThinking && f.thought > 0 {
		before := *f // what was sent when the first thinking was made; nothing leaves after that
		before.facts = f.facts[:f.thought-1]
		f = &before
	}
	old := f.oldReads()
	shells := f.oldOutputs()
	view := f.sight(old)
	for i := range f.facts {
		switch {
		case f.facts[i].fixed:
		case shells[i]:
			f.dropOutput(p, &f.facts[i])
		default:
			f.dropReads(p, i, old, view)
		}
	}
	p.Dangling += f.stranded(old, view)
	return p
}

// stranded counts the agent's own stubs ("unchanged since your last read")
// whose read has left and stands nowhere else.
func (f *State) stranded(old map[at]bool, view sight) int {
	n := 0
	latest := make(map[string]at)
	for i := range f.facts {
		for _, key := range f.facts[i].points {
			if x, ok := latest[key]; ok && old[x] && !view.holds(&f.facts[x.fact].reads[x.read]) {
				n++
			}
		}
		for j := range f.facts[i].reads {
			latest[f.facts[i].reads[j].key] = at{i, j}
		}
	}
	return n
}

// sight tells what stays in view of the files of which something leaves.
func (f *State) sight(old map[at]bool) sight {
	view := make(sight)
	for x := range old {
		view[f.facts[x.fact].reads[x.read].key] = make(map[sighted]bool)
	}
	for i := range f.facts {
		fa := &f.facts[i]
		for j := range fa.reads {
			if r := &fa.reads[j]; view[r.key] != nil && (fa.fixed || !old[at{i, j}]) {
				view.add(r)
			}
		}
	}
	return view
}

// at names a read: the index of its fact, and of the read in it.
type at struct{ fact, read int }

// oldReads tells the reads that are past the newest K of their file. Newest is
// by time; equal or missing times fall back to the position in the history
// (TRIM-10).
func (f *State) oldReads() map[at]bool {
	byFile := make(map[string][]at)
	for i := range f.facts {
		for j := range f.facts[i].reads {
			r := &f.facts[i].reads[j]
			byFile[r.key] = append(byFile[r.key], at{i, j})
		}
	}
	old := make(map[at]bool)
	for _, reads := range byFile {
		sort.SliceStable(reads, func(a, b int) bool {
			return f.facts[reads[a].fact].when.Before(f.facts[reads[b].fact].when)
		})
		for i, x := range reads {
			if newer := len(reads) - 1 - i; newer >= f.keepFor(f.facts[x.fact].reads[x.read].size) {
				old[x] = true
			}
		}
	}
	return old
}

// keepFor is K for a read of so many bytes (TRIM-2, TRIM-15).
func (f *State) keepFor(size int) int {
	k := f.engine.config.KeepReads
	if k < 0 {
		k = math.MaxInt
	}
	if !f.engine.config.BySize {
		return k
	}
	switch {
	case size >= 256<<10:
		return min(k, 1)
	case size >= 64<<10:
		return min(k, 3)
	}
	return k
}

// oldOutputs tells the facts that are outputs of commands past the newest N.
func (f *State) oldOutputs() map[int]bool {
	if f.engine.config.KeepShell < 0 {
		return nil
	}
	var outputs []int
	for i := range f.facts {
		fa := &f.facts[i]
		if fa.call.action.Op == dialect.Shell && !fa.result.Failed && !fa.ours {
			outputs = append(outputs, i)
		}
	}
	sort.SliceStable(outputs, func(a, b int) bool {
		return f.facts[outputs[a]].when.Before(f.facts[outputs[b]].when)
	})
	old := make(map[int]bool)
	for _, i := range outputs[:max(0, len(outputs)-f.engine.config.KeepShell)] {
		old[i] = true
	}
	return old
}

// dropOutput replaces the output of a command, unless the line would be
// longer than the output.
func (f *State) dropOutput(p *Plan, fa *fact) {
	text := f.engine.words.terminal(fa.call.action.Command)
	if len(text) < len(fa.text) {
		p.add(fa, text, nil, Terminal)
	}
}

// dropReads replaces what is old of one result: all of it when every file in
// it is, else the sections of the old files where they can be told apart
// (TRIM-6).
func (f *State) dropReads(p *Plan, i int, old map[at]bool, view sight) {
	fa := &f.facts[i]
	var paths []string
	var cuts []cut
	dangling, keep := 0, staying(fa)
	for j := range fa.reads {
		r := &fa.reads[j]
		if !old[at{i, j}] {
			keep = true
			continue
		}
		paths = append(paths, r.path)
		if !view.holds(r) {
			dangling++
		}
		for k := range r.sections {
			s := &r.sections[k]
			cuts = append(cuts, cut{section: s, text: f.engine.words.older([]string{r.path}, linesOf(s), s.Dir), path: r.path})
		}
	}
	switch {
	case len(paths) == 0 || keep && len(cuts) == 0:
		return
	case keep:
		p.cut(fa, cuts, Older)
	case len(cuts) == 1:
		p.add(fa, cuts[0].text, paths, Older)
	default:
		lines := ""
		if len(paths) == 1 && len(cuts) > 0 {
			lines = joinLines(cuts)
		}
		p.add(fa, f.engine.words.older(paths, lines, fa.call.action.Op == dialect.List), paths, Older)
	}
	p.Dangling += dangling
}

// staying reports whether a batch has a section that stays whatever its age:
// a failed one, or the agent's own stub.
func staying(fa *fact) bool {
	for i := range fa.result.Sections {
		if s := &fa.result.Sections[i]; s.Failed || s.Unchanged {
			return true
		}
	}
	return false
}

func linesOf(s *dialect.Section) string {
	if s.First < 1 || len(s.Lines) == 0 {
		return ""
	}
	return fmt.Sprintf("%d-%d", s.First, s.First+len(s.Lines)-1)
}

func joinLines(cuts []cut) string {
	var all []string
	for _, c := range cuts {
		if l := linesOf(c.section); l != "" {
			all = append(all, l)
		}
	}
	return strings.Join(all, ", ")
}

// sight is what stands whole in a request: per file, the texts of each line
// number; number 0 stands for sections whose lines are not numbered.
type sight map[string]map[sighted]bool

type sighted struct {
	n    int
	text string
}

func (v sight) add(r *read) {
	v.each(r, func(m map[sighted]bool, s sighted) bool { m[s] = true; return true })
}

// holds reports whether everything that r shows stands in the request. Of what
// could not be read line by line nobody knows.
func (v sight) holds(r *read) bool {
	for i := range r.sections {
		if s := &r.sections[i]; s.Cut || s.First < 1 && !s.Dir {
			return false
		}
	}
	return len(r.sections) > 0 && v.each(r, func(m map[sighted]bool, s sighted) bool { return m[s] })
}

// each calls do for the lines of r until it returns false.
func (v sight) each(r *read, do func(map[sighted]bool, sighted) bool) bool {
	m := v[r.key]
	for i := range r.sections {
		s := &r.sections[i]
		for j, text := range s.Lines {
			n := 0
			if s.First > 0 {
				n = s.First + j
			}
			if !do(m, sighted{n, text}) {
				return false
			}
		}
	}
	return true
}
