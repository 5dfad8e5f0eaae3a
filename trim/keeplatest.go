package trim

import (
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/stet-dev/stet/trim/dialect"
)

// keepLatest makes the plan of the policy keep-latest, which is the source document's
// rule: the newest K reads of each file and the newest N outputs of commands stay
// whole, older ones become a placeholder. Failed results stay and do not
// count. It is counted from the end, and uses nothing that the other policies
// decide.
func (st *State) keepLatest() *Plan {
	k := latest{config: &st.engine.config, words: st.engine.words, results: st.results}
	if k.config.ChecksThinking && len(st.thoughts.all) > 0 {
		k.results = st.results[:st.thoughts.all[0].results] // what was sent when the first thinking was made; nothing leaves after that
	}
	k.plan.Reads = st.plan.Reads
	k.findOldReads()
	k.findView()
	outputs := k.oldOutputs()
	for i := range k.results {
		switch res := &k.results[i]; {
		case res.locked:
		case outputs[i]:
			k.replaceOutput(res)
		default:
			k.replaceReads(i)
		}
	}
	k.plan.Dangling += k.danglingStubs()
	return &k.plan
}

// latest is a conversation that is planned under keep-latest.
type latest struct {
	config  *Config
	words   wording
	results []toolResult
	old     map[readRef]bool
	view    map[string]map[shownLine]bool // what stays whole, by file; of the files with old reads
	plan    Plan
}

// readRef names a read: the index of its result, and of the read in it.
type readRef struct{ result, read int }

// shownLine is a line and its number; 0 where lines are not numbered.
type shownLine struct {
	number int
	text   string
}

// findOldReads finds the reads that are past the newest K of their file. Newest is
// by time. Where times are equal or missing it is by position in the history.
func (k *latest) findOldReads() {
	byFile := make(map[string][]readRef)
	for i := range k.results {
		for j := range k.results[i].reads {
			key := k.results[i].reads[j].key
			byFile[key] = append(byFile[key], readRef{i, j})
		}
	}
	k.old = make(map[readRef]bool)
	for _, reads := range byFile {
		slices.SortStableFunc(reads, func(a, b readRef) int { return k.byTime(a.result, b.result) })
		for i, x := range reads {
			if newer := len(reads) - 1 - i; newer >= k.keep(k.read(x).size) && k.shrinks(x) {
				k.old[x] = true
			}
		}
	}
}

// shrinks reports whether a placeholder is shorter than what a read shows. What is not longer than its placeholder stays.
func (k *latest) shrinks(x readRef) bool {
	res, r := &k.results[x.result], k.read(x)
	for i := range r.sections {
		if s := &r.sections[i]; len(k.placeholder(r, s)) < res.sizeOf(s) {
			return true
		}
	}
	return len(r.sections) == 0 && len(k.words.older([]string{r.path}, "", res.call.action.Op == dialect.List)) < r.size
}

// placeholder is what takes the place of a section of a read.
func (k *latest) placeholder(r *fileRead, s *dialect.Section) string {
	return k.words.older([]string{r.path}, linesOf(s), s.Dir)
}

// sizeOf is how many bytes a placeholder of a section replaces.
func (res *toolResult) sizeOf(s *dialect.Section) int {
	if len(res.shown.Sections) == 1 {
		return len(res.text)
	}
	return s.End - s.Start
}

func (k *latest) byTime(a, b int) int { return k.results[a].when.Compare(k.results[b].when) }

func (k *latest) read(x readRef) *fileRead { return &k.results[x.result].reads[x.read] }

// keep is K for a read of so many bytes.
func (k *latest) keep(size int) int {
	n := k.config.KeepReads
	if n < 0 {
		n = math.MaxInt
	}
	switch {
	case k.config.BySize && size >= 256<<10:
		return min(n, 1)
	case k.config.BySize && size >= 64<<10:
		return min(n, 3)
	}
	return n
}

// oldOutputs returns the results that are outputs of commands past the newest N.
func (k *latest) oldOutputs() map[int]bool {
	if k.config.KeepShell < 0 {
		return nil
	}
	var outputs []int
	for i := range k.results {
		res := &k.results[i]
		if a := &res.call.action; a.Op == dialect.Shell && !a.Once && !res.shown.Failed && !res.placeholder {
			outputs = append(outputs, i)
		}
	}
	slices.SortStableFunc(outputs, k.byTime)
	old := make(map[int]bool)
	for _, i := range outputs[:max(0, len(outputs)-k.config.KeepShell)] {
		old[i] = true
	}
	return old
}

// replaceOutput replaces the output of a command, unless the placeholder would be longer.
func (k *latest) replaceOutput(res *toolResult) {
	if text := k.words.command(&res.call.action); len(text) < len(res.text) {
		k.plan.replaceResult(res, text, nil, Terminal)
	}
}

// replaceReads replaces what is old of one result: all of it when every file in it is
// old, else the sections of the old files where they can be told apart.
func (k *latest) replaceReads(i int) {
	res := &k.results[i]
	var paths []string
	var all []replacement
	dangling, keep := 0, res.staying()
	for j := range res.reads {
		r := &res.reads[j]
		if !k.old[readRef{i, j}] {
			keep = true
			continue
		}
		paths = append(paths, r.path)
		if !k.inView(r) {
			dangling++
		}
		for n := range r.sections {
			s := &r.sections[n]
			if text := k.placeholder(r, s); len(text) < res.sizeOf(s) {
				all = append(all, replacement{section: s, text: text, path: r.path})
			} else {
				keep = true
			}
		}
	}
	switch {
	case len(paths) == 0 || keep && len(all) == 0:
		return
	case keep:
		k.plan.replaceSections(res, all, Older)
	case len(all) == 1:
		k.plan.replaceResult(res, all[0].text, paths, Older)
	default:
		var lines []string
		for _, c := range all {
			if l := linesOf(c.section); l != "" && len(paths) == 1 {
				lines = append(lines, l)
			}
		}
		text := k.words.older(paths, strings.Join(lines, ", "), res.call.action.Op == dialect.List)
		if len(text) >= len(res.text) {
			return
		}
		k.plan.replaceResult(res, text, paths, Older)
	}
	k.plan.Dangling += dangling
}

// linesOf returns the lines of a section as its placeholder says them; "" where they are
// not numbered.
func linesOf(s *dialect.Section) string {
	if s.First < 1 || len(s.Lines) == 0 {
		return ""
	}
	return spanOf(s).both()
}

// findView finds what stays in view of the files that have old reads.
func (k *latest) findView() {
	k.view = make(map[string]map[shownLine]bool)
	for x := range k.old {
		k.view[k.read(x).key] = make(map[shownLine]bool)
	}
	for i := range k.results {
		for j := range k.results[i].reads {
			r := k.read(readRef{i, j})
			if lines := k.view[r.key]; lines != nil && (k.results[i].locked || !k.old[readRef{i, j}]) {
				for l := range r.lines() {
					lines[l] = true
				}
			}
		}
	}
}

// inView reports whether everything that r shows stands in the request. Where it could not
// be read line by line, that is not known.
func (k *latest) inView(r *fileRead) bool {
	for i := range r.sections {
		if s := &r.sections[i]; s.Cut || s.First < 1 && !s.Dir {
			return false
		}
	}
	for l := range r.lines() {
		if !k.view[r.key][l] {
			return false
		}
	}
	return len(r.sections) > 0
}

// lines yields the lines of a read.
func (r *fileRead) lines() iter.Seq[shownLine] {
	return func(yield func(shownLine) bool) {
		for i := range r.sections {
			s := &r.sections[i]
			for j, text := range s.Lines {
				l := shownLine{text: text}
				if s.First > 0 {
					l.number = s.First + j
				}
				if !yield(l) {
					return
				}
			}
		}
	}
}

// danglingStubs counts the agent's own stubs ("unchanged since your last read") whose
// read has left and stands nowhere else.
func (k *latest) danglingStubs() int {
	n := 0
	newest := make(map[string]readRef)
	for i := range k.results {
		for _, key := range k.results[i].stubKeys {
			if x, ok := newest[key]; ok && k.old[x] && !k.inView(k.read(x)) {
				n++
			}
		}
		for j := range k.results[i].reads {
			newest[k.read(readRef{i, j}).key] = readRef{i, j}
		}
	}
	return n
}
