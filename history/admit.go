package history

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/stet-dev/stet/dialect"
	"github.com/stet-dev/stet/llm"
)

// admit decides on a result that has just arrived: sections all of whose lines
// are in view already become one line, the rest is sent in full and bears its
// lines from now on. The decision depends on what came before alone, so it
// sticks.
func (f *Fold) admit(fa *fact) {
	if fa.call.action.Op != dialect.Read {
		return
	}
	for _, s := range stubs(fa.text) {
		fa.fixed = true // what was decided once is not decided again
		if k := f.keys.key(s.path); k != "" {
			f.ledger.shorten(k, shortened{span: span{s.first, s.last}})
		}
	}
	if fa.ours {
		return
	}
	if len(fa.reads) == 0 {
		f.restore(fa)
		return
	}
	var cuts []cut
	for i := range fa.reads {
		r := &fa.reads[i]
		short := 0
		for j := range r.sections {
			s := &r.sections[j]
			if text, ok := f.repeat(fa, r, s); ok {
				cuts = append(cuts, cut{s, text, r.path})
				short++
			} else if whole(s) {
				f.ledger.show(r.key, fa.call.action.Row, f.bearer(fa), s)
			}
		}
		if short > 0 && short == len(r.sections) {
			f.plan.Repeats++
		}
	}
	if len(cuts) > 0 {
		f.plan.cut(fa, cuts, Repeat)
	}
}

// bearer names a result. Some agents use an id again for another call: then
// it names none of them. What stands behind a bar is the provider's own, and
// an id that is longer than it helps is left out.
func (f *Fold) bearer(fa *fact) bearer {
	b := bearer{result: place{fa.message, fa.part}}
	if f.calls[fa.call.id].uses == 1 {
		b.call, _, _ = strings.Cut(fa.call.id, "|")
	}
	if len(b.call) > 48 {
		b.call = ""
	}
	return b
}

// whole reports whether s shows all that it claims to.
func whole(s *dialect.Section) bool {
	return !s.Cut && !s.Failed && !s.Unchanged && s.First > 0 && len(s.Lines) > 0
}

// repeat returns the line that may stand for s, and whether it may. Lines of
// more than half the bytes are not worth it, and lines that are asked for
// again are never refused.
func (f *Fold) repeat(fa *fact, r *read, s *dialect.Section) (string, bool) {
	if !whole(s) {
		return "", false
	}
	lines := spanOf(s)
	if _, again := f.ledger.asked(r.key, lines); again || fa.fixed {
		return "", false
	}
	pieces, ok := f.ledger.inView(r.key, fa.call.action.Row, s)
	if !ok {
		return "", false
	}
	for i := range pieces {
		if pieces[i].bearer.result == (place{fa.message, fa.part}) {
			return "", false
		}
	}
	text := f.engine.words.repeat(r.path, lines, pieces)
	if 2*len(text) > s.End-s.Start {
		return "", false
	}
	f.ledger.shorten(r.key, shortened{lines, fa.text[s.Start:s.End]})
	return text, true
}

// restore answers for an agent that refuses a repeat itself ("unchanged since
// your last read"), where the last read was answered with one line of ours:
// the text that this line stands for takes the place of the agent's stub.
func (f *Fold) restore(fa *fact) {
	if len(fa.points) != 1 || fa.fixed {
		return
	}
	lines := span{1, math.MaxInt}
	if t := fa.call.action.Targets; len(t) == 1 {
		lines.first = max(t[0].First, 1)
		if t[0].Last > 0 {
			lines.last = t[0].Last
		}
	}
	if met, ok := f.ledger.asked(fa.points[0], lines); ok && met.text != "" {
		f.plan.add(fa, met.text, []string{fa.points[0]}, Restored)
	}
}

// cut is a section to be replaced by one line.
type cut struct {
	section *dialect.Section
	text    string
	path    string
}

// cut adds the replacement of sections of one result to the plan. A result of
// one section becomes the line alone; in a batch the other sections stay.
func (p *Plan) cut(fa *fact, cuts []cut, why Reason) {
	slices.SortFunc(cuts, func(a, b cut) int { return cmp.Compare(a.section.Start, b.section.Start) })
	text, paths := "", make([]string, 0, len(cuts))
	if len(fa.result.Sections) == 1 {
		text, paths = cuts[0].text, append(paths, cuts[0].path)
	} else {
		at := 0
		for _, c := range cuts {
			text += fa.text[at:c.section.Start] + c.text
			if at = c.section.End; at > 0 && fa.text[at-1] == '\n' {
				text += "\n"
			}
			paths = append(paths, c.path)
		}
		text += fa.text[at:]
	}
	p.add(fa, text, paths, why)
}

// add replaces the text of a result.
func (p *Plan) add(fa *fact, text string, paths []string, why Reason) {
	p.Edits = append(p.Edits, llm.Edit{Message: fa.message, Part: fa.part, Text: text})
	p.Trims = append(p.Trims, Trim{
		Message: fa.message, Part: fa.part, CallID: fa.call.id, Paths: paths,
		Reason: why, Before: len(fa.text), After: len(text),
	})
	p.Left += len(fa.text) - len(text)
}
