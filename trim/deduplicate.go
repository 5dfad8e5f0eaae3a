package trim

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/stet-dev/stet/trim/dialect"
)

// worth is how many bytes a change must save at least.
const worth = 200

// bytesPerToken is what distances in a request are estimated with.
const bytesPerToken = 4

// deduplicate decides on a result that has just arrived. Lines that are in view
// already give way to a pointer. The rest is sent as it is, and recorded in the
// ledger. The decision depends on what came before alone. A result that was sent before goes out in the same way (sent; nil: it is new).
func (st *State) deduplicate(res *toolResult, sent *decision) {
	res.pointsTo = math.MaxInt
	if len(res.pointers) > 0 {
		res.pointsTo = 0 // it may be any
	}
	switch res.call.action.Op {
	case dialect.Read:
		if res.isPlainOutput() {
			st.deduplicateOutput(res, sent)
		} else {
			st.deduplicateRead(res, sent)
		}
	case dialect.Edit, dialect.Write:
		if !res.shown.Failed {
			st.recordWrite(res, true)
		}
	case dialect.Shell, dialect.Output, dialect.Agent:
		st.deduplicateOutput(res, sent)
	}
}

// isPlainOutput reports whether a read through a shell is an output like others: it is
// not known which lines of a file it shows.
func (res *toolResult) isPlainOutput() bool {
	if res.call.action.Command == "" || res.shown.Failed {
		return false
	}
	if len(res.pointers) > 0 {
		return res.pointers[0].name == outputName
	}
	return !res.placeholder && !slices.ContainsFunc(res.shown.Sections, func(s dialect.Section) bool { return numbered(&s) })
}

// recordWrite records that a file was edited or written. stands says that the
// arguments of the call are whole in the request: then they show the new text.
func (st *State) recordWrite(res *toolResult, stands bool) {
	a := &res.call.action
	clear(st.ledger.answers)
	for _, t := range a.Targets {
		if k := st.keys.key(t.Path); k != "" {
			st.ledger.file(k).changed()
		}
	}
	if !stands {
		return
	}
	if a.Op == dialect.Write && a.Content == writtenPlaceholder { // it had left when the request came
		st.hideAskedLines(res)
		return
	}
	from := st.argumentsOf(res)
	show := func(path string, first int, text string) {
		if k := st.keys.key(path); k != "" {
			st.ledger.file(k).show(from, first, splitLines(text))
		}
	}
	for i := range a.Edits {
		show(a.Edits[i].Path, 0, a.Edits[i].New)
	}
	if a.Op == dialect.Write && len(a.Targets) == 1 {
		show(a.Targets[0].Path, 1, a.Content)
	}
}

// splitLines returns the lines of a text without their line breaks. An empty rest
// behind the last line break is no line.
func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// sourceOf names a result as a source. Where an agent uses the id again for another
// call, it has no name.
func (st *State) sourceOf(res *toolResult) source {
	s := source{at: res.at, offset: st.offset(res)}
	if st.calls[res.call.id].uses == 1 {
		s.call = shortID(res.call.id)
	}
	return s
}

// argumentsOf names the call of a result as the source of what its arguments hold.
func (st *State) argumentsOf(res *toolResult) source {
	s := st.sourceOf(res)
	s.at, s.written = res.call.at, true
	return s
}

// offset is how many bytes of the request stand before the end of a result.
func (st *State) offset(res *toolResult) int { return res.end - st.plan.Saved }

// reachOf returns which passages a pointer in a result may name: not the result's own,
// and none further back than half of the window.
func (st *State) reachOf(res *toolResult, stripped bool) reach {
	r := reach{own: res.at, stripped: stripped}
	if w := st.engine.config.Window; w > 0 {
		r.from = st.offset(res) - w/2*bytesPerToken
	}
	return r
}

// deduplicateRead decides on a read.
func (st *State) deduplicateRead(res *toolResult, sent *decision) {
	if len(res.pointers) > 0 {
		st.recordPlanned(res)
		return
	}
	if res.placeholder {
		st.hideAskedLines(res)
	}
	var all []replacement
	var replaced map[*dialect.Section]*replacedLines
	if sent.changed() {
		replaced = st.replacedIn(res, sent)
	}
	why := Repeat // where sections differ, the reason that keeps least of them is the result's
	for i := range res.reads {
		r := &res.reads[i]
		whole := 0
		for j := range r.sections {
			c, ok := st.deduplicateSection(res, r, &r.sections[j], sent, replaced[&r.sections[j]])
			switch {
			case !ok:
				continue
			case c.partial:
				why = c.why
			default:
				whole++
			}
			all = append(all, c)
		}
		if whole > 0 && whole == len(r.sections) {
			st.plan.Repeats++
		}
	}
	switch {
	case len(all) == 0 && !(sent.changed() && sent.why == Numbers):
	case sent != nil:
		st.plan.replaceResult(res, sent.text, pathsOf(all), sent.why)
	default:
		st.plan.replaceSections(res, all, why)
	}
	st.answerStub(res, sent)
}

// replacement is what takes the place of a section.
type replacement struct {
	section *dialect.Section
	text    string // a placeholder, or the section without some of its lines
	partial bool   // the latter
	why     Reason // of partial
	path    string
}

// deduplicateSection decides on what a result shows of one file, and records what of
// it stands. It returns what takes its place, and whether anything does. Lines
// that are asked for again are always sent.
func (st *State) deduplicateSection(res *toolResult, r *fileRead, s *dialect.Section, sent *decision, as *replacedLines) (replacement, bool) {
	if !numbered(s) {
		return replacement{}, false
	}
	f := st.ledger.file(r.key)
	again := f.askedAgain(spanOf(s), res.call)
	switch {
	case as != nil && as.whole:
		st.hideRepeat(res, s, f)
		return replacement{section: s, path: r.path}, true
	case as != nil:
		st.hidePart(res, s, f, as.spans)
		return replacement{section: s, path: r.path, partial: true}, true
	case sent == nil && !again && !res.locked:
		if runs := f.match(s.First, s.Lines, st.reachOf(res, s.Stripped)); len(runs) > 0 {
			if c, ok := st.wholeRepeat(res, r, s, f, runs); ok {
				return c, true
			}
			if c, ok := st.partialRepeat(res, r, s, f, runs); ok {
				return c, true
			}
		}
	}
	f.showSection(st.sourceOf(res), s, nil)
	f.tell(res.call.action.Row, s)
	if sent == nil && !again {
		if text, ok := res.thinRead(s); ok {
			return replacement{section: s, text: text, partial: true, why: Numbers, path: r.path}, true
		}
	}
	return replacement{}, false
}

// wholeRepeat returns the pointer for a section all of whose lines are in view, and
// that says nothing else. A pointer of more than half the bytes is not worth it.
func (st *State) wholeRepeat(res *toolResult, r *fileRead, s *dialect.Section, f *file, runs []run) (replacement, bool) {
	if s.Cut || len(runs) > maxRuns || lineCount(runs) < len(s.Lines) || f.tellsMore(res.call.action.Row, s) {
		return replacement{}, false
	}
	line := (&pointer{name: r.path, file: f, first: s.First, runs: runs, ask: true}).String()
	if 2*len(line) > s.End-s.Start {
		return replacement{}, false
	}
	st.hideRepeat(res, s, f)
	res.pointTo(runs, []span{{0, len(s.Lines)}})
	return replacement{section: s, text: line, path: r.path}, true
}

// hideRepeat records that a pointer stands for a whole section.
func (st *State) hideRepeat(res *toolResult, s *dialect.Section, f *file) {
	f.hide(hiddenLines{span: spanOf(s), text: res.text[s.Start:s.End], message: res.at.Message})
}

// pointTo notes the results that pointers in a result name: those of the runs in the ranges of lines that pointers replaced.
func (res *toolResult) pointTo(runs []run, replaced []span) {
	for _, r := range runs {
		if !r.passage.written && slices.ContainsFunc(replaced, func(g span) bool { return g.first < r.to && r.from < g.last }) {
			res.pointsTo = min(res.pointsTo, r.passage.at.Message)
		}
	}
}

// pathsOf sorts replacements by their place, and returns their files.
func pathsOf(all []replacement) (paths []string) {
	slices.SortFunc(all, func(a, b replacement) int { return cmp.Compare(a.section.Start, b.section.Start) })
	for _, c := range all {
		paths = append(paths, c.path)
	}
	return paths
}

// replaceSections replaces sections of one result. A result of one section becomes
// the placeholder alone; in a batch the other sections stay.
func (p *Plan) replaceSections(res *toolResult, all []replacement, why Reason) {
	paths := pathsOf(all)
	if len(res.shown.Sections) == 1 && !all[0].partial {
		p.replaceResult(res, all[0].text, paths[:1], why)
		return
	}
	text, at := "", 0
	for _, c := range all {
		text += res.text[at:c.section.Start] + c.text
		if at = c.section.End; !c.partial && at > 0 && res.text[at-1] == '\n' {
			text += "\n"
		}
	}
	p.replaceResult(res, text+res.text[at:], paths, why)
}
