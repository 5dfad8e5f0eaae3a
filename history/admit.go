package history

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stet-dev/stet/dialect"
	"github.com/stet-dev/stet/llm"
)

// admit decides on a result that has just arrived: lines that are in view
// already give way to one line, the rest is sent as it is and bears its lines
// from now on. The decision depends on what came before alone, so it sticks.
func (f *State) admit(fa *fact) {
	switch fa.call.action.Op {
	case dialect.Read:
		if fa.plain() {
			f.admitOutput(fa)
		} else {
			f.admitRead(fa)
		}
	case dialect.Edit, dialect.Write:
		if !fa.result.Failed {
			f.written(fa, true)
		}
	case dialect.Shell, dialect.Output, dialect.Agent:
		f.admitOutput(fa)
	}
}

// plain reports whether a read through a shell is an output like others: nobody
// knows which lines of which file it shows.
func (fa *fact) plain() bool {
	if fa.call.action.Command == "" || fa.result.Failed {
		return false
	}
	if own := fa.stubs(); len(own) > 0 {
		return own[0].path == outputName
	}
	return !fa.ours && !slices.ContainsFunc(fa.result.Sections, numbered)
}

// written records that a file was edited or written. stands says that the
// arguments of the call are whole in the request: then their new text bears
// its lines.
func (f *State) written(fa *fact, stands bool) {
	a := &fa.call.action
	clear(f.ledger.last)
	for _, t := range a.Targets {
		if k := f.keys.key(t.Path); k != "" {
			f.ledger.file(k).changed()
		}
	}
	if !stands {
		return
	}
	if a.Op == dialect.Write && a.Content == contentLine { // it had left when the request came
		f.oweAsked(fa)
		return
	}
	b := f.writer(fa)
	for i := range a.Edits {
		if k := f.keys.key(a.Edits[i].Path); k != "" {
			f.ledger.file(k).show(b, 0, linesIn(a.Edits[i].New))
		}
	}
	if a.Op == dialect.Write && len(a.Targets) == 1 {
		if k := f.keys.key(a.Targets[0].Path); k != "" {
			f.ledger.file(k).show(b, 1, linesIn(a.Content))
		}
	}
}

// linesIn returns the lines of a text without their line breaks. What stands
// behind the last line break is no line if it is empty.
func linesIn(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// admitRead decides on a read.
func (f *State) admitRead(fa *fact) {
	if own := fa.stubs(); len(own) > 0 {
		f.decided(fa, own)
		return
	}
	if fa.ours {
		f.oweAsked(fa)
	}
	if len(fa.reads) == 0 {
		f.restore(fa)
		return
	}
	var cuts []cut
	why := Repeat
	for i := range fa.reads {
		r := &fa.reads[i]
		short := 0
		for j := range r.sections {
			c, ok := f.admitSection(fa, r, &r.sections[j])
			if ok {
				cuts = append(cuts, c)
			}
			if c.part {
				why = Partial
			} else if ok {
				short++
			}
		}
		if short > 0 && short == len(r.sections) {
			f.plan.Repeats++
		}
	}
	if len(cuts) > 0 {
		f.plan.cut(fa, cuts, why)
	}
	f.restore(fa)
}

// decided records a result that has lines of ours already: it is not decided
// on again, and what else it shows counts.
func (f *State) decided(fa *fact, own []stub) {
	for i := range fa.reads {
		r := &fa.reads[i]
		for j := range r.sections {
			if s := &r.sections[j]; numbered(*s) {
				l := f.ledger.file(r.key)
				l.asked(spanOf(s), fa.call)
				for _, c := range chunks(s) {
					l.show(f.bearer(fa), c.first, c.lines)
				}
			}
		}
	}
	for _, s := range own {
		k := f.keys.key(s.path)
		if t := fa.call.action.Targets; len(t) == 1 {
			k = f.keys.key(t[0].Path) // the line says its last element alone
		}
		if k != "" {
			l := f.ledger.file(k)
			c := behind(fa.text[s.behind:], s.last)
			l.show(f.bearer(fa), c.first, c.lines)
			l.shorten(shortened{span: span{s.first, s.last}, message: fa.message})
		}
	}
}

// bearer names a result. Some agents use an id again for another call: then
// it names none of them.
func (f *State) bearer(fa *fact) bearer {
	b := bearer{result: place{fa.message, fa.part}, at: f.at(fa)}
	if f.calls[fa.call.id].uses == 1 {
		b.call = shortID(fa.call.id)
	}
	return b
}

// shortID returns an id as lines of ours write it: without what stands behind a
// bar, which is the provider's own; "" where it is longer than it helps.
func shortID(id string) string {
	if id, _, _ = strings.Cut(id, "|"); len(id) > 48 {
		return ""
	}
	return id
}

// at is how many bytes of the request stand before the end of a result.
func (f *State) at(fa *fact) int { return fa.seen - f.plan.Saved }

// reach returns which texts a line in place of a section of a result may point
// to: not its own, and none further back than half of the window.
func (f *State) reach(fa *fact, stripped bool) reach {
	r := reach{own: place{fa.message, fa.part}, stripped: stripped}
	if w := f.engine.config.Window; w > 0 {
		r.from = f.at(fa) - w/2*bytesPerToken
	}
	return r
}

// writer names the call of a result, for what its arguments hold.
func (f *State) writer(fa *fact) bearer {
	b := f.bearer(fa)
	b.result, b.written = fa.call.at, true
	return b
}

// numbered reports whether s shows lines, and their numbers are known.
func numbered(s dialect.Section) bool {
	return !s.Failed && !s.Unchanged && s.First > 0 && len(s.Lines) > 0
}

// admitSection decides on what a result shows of one file, and records what of
// it stands. It returns what takes its place, and whether anything does. Lines
// that are asked for again are never refused.
func (f *State) admitSection(fa *fact, r *read, s *dialect.Section) (cut, bool) {
	if !numbered(*s) {
		return cut{}, false
	}
	l := f.ledger.file(r.key)
	if again := l.asked(spanOf(s), fa.call); !again && !fa.fixed {
		runs := l.match(s.First, s.Lines, f.reach(fa, s.Stripped))
		if c, ok := f.repeat(fa, r, s, l, runs); ok {
			return c, true
		}
		if c, ok := f.partial(fa, r, s, l, runs); ok {
			return c, true
		}
	}
	l.stay(f.bearer(fa), s, nil)
	l.tell(fa.call.action.Row, s)
	return cut{}, false
}

// repeat returns the line for a section all of whose lines are in view, and
// that says nothing else. A line of more than half the bytes is not worth it.
func (f *State) repeat(fa *fact, r *read, s *dialect.Section, l *file, runs []run) (cut, bool) {
	if s.Cut || len(runs) > maxPieces || covered(runs) < len(s.Lines) || l.news(fa.call.action.Row, s) {
		return cut{}, false
	}
	line := f.engine.words.standing(r.path, spanOf(s), 0, l.pieces(s.First, runs), true)
	if 2*len(line) > s.End-s.Start {
		return cut{}, false
	}
	l.shorten(shortened{span: spanOf(s), text: fa.text[s.Start:s.End], message: fa.message})
	return cut{section: s, text: line, path: r.path}, true
}

// cut is a section to be replaced by one line, or by a shorter text.
type cut struct {
	section *dialect.Section
	text    string
	path    string
	part    bool // text is all of the section but some of its lines
}

// cut adds the replacement of sections of one result to the plan. A result of
// one section becomes the line alone; in a batch the other sections stay.
func (p *Plan) cut(fa *fact, cuts []cut, why Reason) {
	slices.SortFunc(cuts, func(a, b cut) int { return cmp.Compare(a.section.Start, b.section.Start) })
	text, paths := "", make([]string, 0, len(cuts))
	if len(fa.result.Sections) == 1 && !cuts[0].part {
		text, paths = cuts[0].text, append(paths, cuts[0].path)
	} else {
		at := 0
		for _, c := range cuts {
			text += fa.text[at:c.section.Start] + c.text
			if at = c.section.End; !c.part && at > 0 && fa.text[at-1] == '\n' {
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
	p.Omissions = append(p.Omissions, Omission{
		Message: fa.message, Part: fa.part, CallID: fa.call.id, Paths: paths,
		Reason: why, Before: len(fa.text), After: len(text),
	})
	p.Saved += len(fa.text) - len(text)
}
