package trim

import "github.com/stet-dev/stet/trim/dialect"

// outputs is the key under which the ledger has all lines that commands and other
// tools printed and that are no file. No path has this key.
const outputs = "\x00outputs"

// deduplicateOutput decides on what a command, a search, another agent or the like
// printed. It is brought to its normal form where it shows no file, and lines that
// stand above give way to pointers. A command that is run again after the model saw a
// shortened answer, with no change to a file between, is answered in full, byte for
// byte. A failed output stays as it is.
func (st *State) deduplicateOutput(res *toolResult, as *decision) {
	a := &res.call.action
	f := st.ledger.file(outputs)
	f.show(st.argumentsOf(res), 1, splitLines(argumentText(a)))
	last := st.ledger.answers[a.Command]
	if len(res.pointers) > 0 { // it was decided on before
		st.ledger.answers[a.Command] = answer{true, true, res.at.Message}
		for _, b := range blocks(&dialect.Section{First: 1, Lines: splitLines(res.text)}) {
			f.show(st.sourceOf(res), b.first, b.lines)
		}
		st.showDiffs(res, res.text)
		return
	}
	seen := last.message < res.call.at.Message // the calls of one message are made before any of them is answered
	again := seen && (last.shortened || last.normal && res.text != res.normal)
	stays := as == asIs || as == nil && (again || res.locked || res.shown.Failed)
	text := res.normal
	if stays {
		text = res.text
	}
	s := &dialect.Section{End: len(text), First: 1, Lines: splitLines(text)}
	sent, replaced := text, []span(nil)
	switch {
	case stays:
	case as != nil:
		sent = as.text
		for _, p := range findPointers(sent) {
			replaced = append(replaced, span{p.lines.first - 1, min(p.lines.last, len(s.Lines))})
		}
	default:
		runs := f.match(1, s.Lines, st.reachOf(res, false))
		if a.Finds() {
			runs = keepPaths(runs, s.Lines)
		}
		if len(runs) > 0 {
			t := torn{text: text, section: s, rows: rowsOf(text, s), file: f, name: outputName}
			if sent, replaced = t.shorten(runs); len(replaced) > 0 {
				res.pointTo(runs, replaced)
			}
		}
	}
	st.ledger.answers[a.Command] = answer{len(replaced) > 0, len(replaced) > 0 || text == res.normal, res.at.Message}
	f.showSection(st.sourceOf(res), s, replaced)
	st.showDiffs(res, sent)
	if len(s.Lines) > 0 && len(sent) < len(res.text) {
		st.plan.replaceResult(res, sent, nil, Output)
	}
}

// normalOutput returns the normal form of what a command or the like printed. If that may show text of files, it is the text itself, since
// edits are made from it; only what a search found has each path once.
func normalOutput(a *dialect.Action, text string) string {
	normal := text
	if a.Op == dialect.Shell {
		normal = terminal(text)
	}
	if a.MayShowFiles(normal) {
		normal = text
	}
	if a.Finds() {
		normal = grouped(normal)
	}
	return normal
}

// argumentText returns the text in the arguments of a call that files and outputs may
// repeat.
func argumentText(a *dialect.Action) string {
	if a.Op == dialect.Shell {
		return a.Command
	}
	return a.Content
}

// showDiffs records the lines of files that stand in the diffs of an output.
func (st *State) showDiffs(res *toolResult, sent string) {
	for _, h := range dialect.Hunks(sent) {
		if k := st.keys.key(h.Path); k != "" {
			st.ledger.file(k).show(st.sourceOf(res), h.First, h.Lines)
		}
	}
}
