package trim

import (
	"math"

	"github.com/stet-dev/stet/trim/dialect"
)

// Some agents answer a repeated read with a stub of their own ("unchanged since your
// last read"). It shows nothing, but says that an earlier result does. That result is
// not evicted from then on. Where it was shortened, or evicted before, its text takes
// the place of the stub.

// linesAsked returns the lines of a file that a call asks for.
func (st *State) linesAsked(c *call, key string) span {
	for _, t := range c.action.Targets {
		if st.keys.key(t.Path) != key {
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

// stubTargets returns which of the results that show a file, oldest first, a stub is
// about: the newest that was asked for the same lines; failing that, all that
// show some of these; else the newest.
func (st *State) stubTargets(stub *toolResult, key string, showing []int) []int {
	lines := st.linesAsked(stub.call, key)
	for i := len(showing) - 1; i >= 0; i-- {
		if st.linesAsked(st.results[showing[i]].call, key) == lines {
			return showing[i : i+1]
		}
	}
	var some []int
	for _, i := range showing {
		if st.results[i].shows(key, lines) {
			some = append(some, i)
		}
	}
	if len(some) == 0 && len(showing) > 0 {
		return showing[len(showing)-1:]
	}
	return some
}

// shows reports whether a result shows some of the lines of a file.
func (res *toolResult) shows(key string, lines span) bool {
	for i := range res.reads {
		r := &res.reads[i]
		for j := range r.sections {
			if s := &r.sections[j]; r.key == key && numbered(s) && spanOf(s).meets(lines) {
				return true
			}
		}
	}
	return false
}

// hideEvicted records the lines that an evicted result or write showed. Its placeholder
// does not say which lines these are. So they are the lines that were asked for, which
// are the same when a planned request is planned again.
func (st *State) hideEvicted(res *toolResult) {
	hide := func(key, text string) {
		h := hiddenLines{span: st.linesAsked(res.call, key), text: text, evicted: true, message: res.at.Message}
		st.ledger.file(key).hide(h)
	}
	if a := &res.call.action; a.Op == dialect.Write && len(a.Targets) == 1 {
		if k := st.keys.key(a.Targets[0].Path); k != "" {
			hide(k, a.Content)
		}
	}
	for i := range res.reads {
		r := &res.reads[i]
		if len(r.sections) == 0 || len(res.shown.Sections) == 1 {
			hide(r.key, res.text)
			continue
		}
		for j := range r.sections {
			hide(r.key, res.text[r.sections[j].Start:r.sections[j].End])
		}
	}
}

// hideAskedLines records the lines that a call asked for, where the answer was a
// placeholder when the request came.
func (st *State) hideAskedLines(res *toolResult) {
	for _, t := range res.call.action.Targets {
		if k := st.keys.key(t.Path); k != "" {
			st.ledger.file(k).hide(hiddenLines{span: st.linesAsked(res.call, k), evicted: true, message: res.at.Message})
		}
	}
}

// answerStub puts the text that an agent's own stub is about in its place, where that
// text does not stand. Where that cannot be done, it is counted.
func (st *State) answerStub(res *toolResult, sent *decision) {
	for _, key := range res.stubKeys {
		f := st.ledger.file(key)
		hidden, ok := f.mostHidden(st.linesAsked(res.call, key))
		switch {
		case !ok:
		case sent != nil && sent.why == Restored:
			st.plan.replaceResult(res, sent.text, []string{key}, Restored)
			f.unhide(hidden)
		case sent == nil && len(res.stubKeys) == 1 && len(res.reads) == 0 && !res.locked && hidden.text != "":
			st.plan.replaceResult(res, hidden.text, []string{key}, Restored)
			f.unhide(hidden)
		case hidden.evicted:
			st.plan.Dangling++
		}
	}
}

// mostHidden returns the hidden lines that a stub about these lines means: those that
// have most of them, the newest of equal ones.
func (f *file) mostHidden(lines span) (hiddenLines, bool) {
	var out hiddenLines
	most := 0
	for _, h := range f.hidden {
		if n := min(h.last, lines.last) - max(h.first, lines.first) + 1; n > 0 && n >= most {
			out, most = h, n
		}
	}
	return out, most > 0
}

// unhide takes out the hidden lines whose text stands in full now.
func (f *file) unhide(shown hiddenLines) {
	kept := f.hidden[:0]
	for _, h := range f.hidden {
		if h.text != shown.text && (h.first < shown.first || h.last > shown.last) {
			kept = append(kept, h)
		}
	}
	f.hidden = kept
}
