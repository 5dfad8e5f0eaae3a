package history

import "github.com/stet-dev/stet/dialect"

// outputs is the key of what commands and other tools printed that is no
// file, all in one. No path has it.
const outputs = "\x00outputs"

// outputName is what a line calls it.
const outputName = "output"

// admitOutput decides on what a command, a search, another agent or the like
// printed: it is brought to its normal form, where it shows no file, and lines
// that stand above already give way to one line. A command that is run again
// after the model saw such an answer, with no change to a file between, is answered
// in full, byte for byte. What failed stays as it is.
func (f *State) admitOutput(fa *fact) {
	a := &fa.call.action
	l := f.ledger.file(outputs)
	l.show(f.writer(fa), 1, linesIn(said(a)))
	was := f.ledger.last[a.Command]
	if len(fa.stubs()) > 0 { // what was decided once is not decided again
		f.ledger.last[a.Command] = answer{true, true, fa.message}
		for _, c := range chunks(&dialect.Section{First: 1, Lines: linesIn(fa.text)}) {
			l.show(f.bearer(fa), c.first, c.lines)
		}
		f.diffs(fa, fa.text)
		return
	}
	text, stays := fa.text, fa.fixed || fa.result.Failed
	again := was.seen(fa.call) && (was.short || was.normal && text != fa.normal)
	if !again && !stays {
		text = fa.normal
	}
	f.ledger.last[a.Command] = answer{false, text == fa.normal, fa.message}
	s := &dialect.Section{End: len(text), First: 1, Lines: linesIn(text)}
	if len(s.Lines) == 0 {
		return
	}
	var gone []span
	sent := text
	if !again && !stays {
		if runs := l.match(1, s.Lines, f.reach(fa, false)); len(runs) > 0 {
			sent, gone = f.engine.words.shorter(text, outputName, s, 0, rowsOf(text, s), l, runs)
		}
	}
	if len(gone) > 0 {
		f.ledger.last[a.Command] = answer{true, true, fa.message}
	}
	l.stay(f.bearer(fa), s, gone)
	f.diffs(fa, sent)
	if len(sent) < len(fa.text) {
		f.plan.add(fa, sent, nil, Output)
	}
}

// printed returns the normal form of what a command or the like printed, and
// whether it may show text of files: then this is the text itself, since edits
// are made from it.
func printed(a *dialect.Action, text string) (normal string, files bool) {
	normal = text
	if a.Op == dialect.Shell {
		normal = terminal(text)
	}
	if a.MayShowFiles(normal) {
		return text, true
	}
	return normal, false
}

// said returns the text in a call's arguments that files and outputs may repeat.
func said(a *dialect.Action) string {
	if a.Op == dialect.Shell {
		return a.Command
	}
	return a.Content
}

// diffs records the lines of files that stand in the diffs of an output.
func (f *State) diffs(fa *fact, sent string) {
	for _, h := range dialect.Hunks(sent) {
		if k := f.keys.key(h.Path); k != "" {
			f.ledger.file(k).show(f.bearer(fa), h.First, h.Lines)
		}
	}
}
