package history

import (
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
			f.ledger.shorten(k, span{s.first, s.last})
		}
	}
	if fa.ours {
		return
	}
	var cuts []cut
	for _, r := range fa.reads {
		short := 0
		for i := range r.sections {
			s := &r.sections[i]
			text, ok := f.repeat(fa, r, s)
			if ok {
				cuts = append(cuts, cut{s, text, r.path})
				short++
			} else if whole(s) {
				f.ledger.show(r.key, fa.call.id, s)
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

// whole reports whether s shows all that it claims to.
func whole(s *dialect.Section) bool {
	return !s.Cut && !s.Failed && !s.Unchanged && !s.Dir && s.First > 0 && len(s.Lines) > 0
}

// repeat returns the line that may stand for s, and whether it may. Lines of
// fewer than twice the bytes are not worth it, and lines that are asked for
// again are never refused.
func (f *Fold) repeat(fa *fact, r read, s *dialect.Section) (string, bool) {
	if !whole(s) {
		return "", false
	}
	last := s.First + len(s.Lines) - 1
	if f.ledger.asked(r.key, span{s.First, last}) || fa.fixed {
		return "", false
	}
	pieces, ok := f.ledger.inView(r.key, s)
	if !ok {
		return "", false
	}
	for _, p := range pieces {
		if p.call == "" || p.call == fa.call.id {
			return "", false
		}
	}
	text := f.engine.words.repeat(r.path, s.First, last, pieces)
	if 2*len(text) > s.End-s.Start {
		return "", false
	}
	f.ledger.shorten(r.key, span{s.First, last})
	return text, true
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
