package history

import "github.com/stet-dev/stet/dialect"

// outputs is the key of what commands and other tools printed that is no
// file, all in one. No path has it.
const outputs = "\x00outputs"

// outputName is what a line calls it.
const outputName = "output"

// admitOutput decides on what a command, a search or the like printed: it is
// brought to its normal form, and lines that stand above already give way to
// one line. A command that is run again after such an answer, with no change
// to a file between, is answered in full.
func (f *Fold) admitOutput(fa *fact) {
	if fa.result.Failed {
		return
	}
	l := f.ledger.file(outputs)
	if c := fa.call.action.Content; c != "" {
		l.show(f.writer(fa), 1, linesIn(c))
	}
	again := f.ledger.short[fa.call.action.Command]
	delete(f.ledger.short, fa.call.action.Command)
	if len(stubs(fa.text)) > 0 { // what was decided once is not decided again
		f.ledger.short[fa.call.action.Command] = true
		for _, c := range chunks(&dialect.Section{First: 1, Lines: linesIn(fa.text)}) {
			l.show(f.bearer(fa), c.first, c.lines)
		}
		return
	}
	text := fa.text
	if fa.call.action.Op == dialect.Shell && !fa.fixed {
		text = terminal(text)
	}
	s := &dialect.Section{End: len(text), First: 1, Lines: linesIn(text)}
	if len(s.Lines) == 0 {
		return
	}
	var gone []span
	sent := text
	if !again && !fa.fixed {
		runs := l.match(1, s.Lines, f.reach(fa))
		sent, gone = f.engine.words.shorter(text, outputName, s, 0, rowsOf(text, s), l, runs)
	}
	if len(gone) > 0 {
		f.ledger.short[fa.call.action.Command] = true
	}
	l.stay(f.bearer(fa), s, gone)
	if len(sent) < len(fa.text) {
		f.plan.add(fa, sent, nil, Output)
	}
}
