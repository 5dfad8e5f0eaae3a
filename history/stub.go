package history

import (
	"math"

	"github.com/stet-dev/stet/dialect"
)

// An agent's own stub ("unchanged since your last read") shows nothing, but says
// that an earlier result does. What it is about is no victim from then on. Where
// that was answered with less, or has left before, its text takes the place of
// the stub.

// asks returns the lines of a file that a call asks for.
func (f *State) asks(fa *fact, key string) span {
	for _, t := range fa.call.action.Targets {
		if f.keys.key(t.Path) != key {
			continue
		}
		lines := span{max(t.First, 1), math.MaxInt}
		if t.Last > 0 {
			lines.last = t.Last
		}
		return lines
	}
	return span{1, math.MaxInt}
}

// meant returns which of the facts that show a file, oldest first, a stub is
// about: the newest that was asked for the same lines; failing that, all that
// show some of these; else the newest.
func (f *State) meant(stub *fact, key string, shows []int) []int {
	lines := f.asks(stub, key)
	for i := len(shows) - 1; i >= 0; i-- {
		if f.asks(&f.facts[shows[i]], key) == lines {
			return shows[i : i+1]
		}
	}
	var some []int
	for _, x := range shows {
		if f.facts[x].meets(key, lines) {
			some = append(some, x)
		}
	}
	if len(some) == 0 && len(shows) > 0 {
		return shows[len(shows)-1:]
	}
	return some
}

// meets reports whether a fact shows some of the lines of a file.
func (fa *fact) meets(key string, lines span) bool {
	for i := range fa.reads {
		r := &fa.reads[i]
		for j := range r.sections {
			if s := &r.sections[j]; r.key == key && numbered(*s) && spanOf(s).meets(lines) {
				return true
			}
		}
	}
	return false
}

// owe notes what a victim showed: asked for again, it is shown in full. The line
// in its place does not say which lines these are, so it goes by those that were
// asked for, which are the same when a planned request is planned again.
func (f *State) owe(fa *fact) {
	if a := &fa.call.action; a.Op == dialect.Write && len(a.Targets) == 1 {
		if k := f.keys.key(a.Targets[0].Path); k != "" {
			f.ledger.file(k).shorten(shortened{span: f.asks(fa, k), text: a.Content, gone: true, message: fa.message})
		}
	}
	for i := range fa.reads {
		r := &fa.reads[i]
		l := f.ledger.file(r.key)
		o := shortened{span: f.asks(fa, r.key), text: fa.text, gone: true, message: fa.message}
		if len(r.sections) == 0 {
			l.shorten(o)
		}
		for j := range r.sections {
			if s := &r.sections[j]; len(fa.result.Sections) > 1 {
				o.text = fa.text[s.Start:s.End]
			}
			l.shorten(o)
		}
	}
}

// oweAsked is owe for what had left already when the request came.
func (f *State) oweAsked(fa *fact) {
	for _, t := range fa.call.action.Targets {
		if k := f.keys.key(t.Path); k != "" {
			f.ledger.file(k).shorten(shortened{span: f.asks(fa, k), gone: true, message: fa.message})
		}
	}
}

// restore answers for an agent that refuses a repeat itself: what its stub is
// about and does not stand takes the stub's place. Where that cannot be, it is
// counted.
func (f *State) restore(fa *fact) {
	for _, key := range fa.points {
		l := f.ledger.file(key)
		owed, ok := l.owed(f.asks(fa, key))
		switch {
		case !ok:
		case len(fa.points) == 1 && len(fa.reads) == 0 && !fa.fixed && owed.text != "":
			f.plan.add(fa, owed.text, []string{key}, Restored)
			l.pay(owed)
		case owed.gone:
			f.plan.Dangling++
		}
	}
}

// owed returns what was answered with one line and is meant by a stub about
// these lines: what has most of them, the newest of those.
func (f *file) owed(lines span) (shortened, bool) {
	var owed shortened
	most := 0
	for _, o := range f.shortened {
		if n := min(o.last, lines.last) - max(o.first, lines.first) + 1; n > 0 && n >= most {
			owed, most = o, n
		}
	}
	return owed, most > 0
}

// pay takes out what was answered with one line and now stands in full.
func (f *file) pay(o shortened) {
	kept := f.shortened[:0]
	for _, t := range f.shortened {
		if t.text != o.text && (t.first < o.first || t.last > o.last) {
			kept = append(kept, t)
		}
	}
	f.shortened = kept
}
