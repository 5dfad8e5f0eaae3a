package history

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/stet-dev/stet/dialect"
)

// The lines that stand for texts in a call's arguments.
const (
	oldLine     = mark + "left out: the text that this edit replaced.]"
	contentLine = mark + "left out: what was written. Read the file if needed.]"
	planLine    = mark + "left out: an older plan; a newer one follows.]"
	toldLine    = mark + "left out: what an older call was told.]"
)

// large is how many bytes of what the agent wrote itself are worth the risk that
// it needs them.
const large = 4 << 10

// unread reports whether what was written to a file is large, and nobody has
// touched the file for long (bold).
func (s *survey) unread(fa *fact) bool {
	a := &fa.call.action
	return len(a.Targets) == 1 && len(a.Content) >= large && s.idle(s.f.keys.key(a.Targets[0].Path), 2)
}

// leaveContent has what was written leave.
func (fa *fact) leaveContent() {
	a := &fa.call.action
	fa.shorten(omission{a.ContentAt, contentLine})
	fa.verdict.paths = []string{a.Targets[0].Path}
}

// shorten has texts leave the arguments of a fact's call, if that is worth it.
func (fa *fact) shorten(texts ...omission) bool {
	args, ok := omit(fa.call.args, texts)
	if !ok || len(args)+worth > len(fa.call.args) {
		return false
	}
	fa.verdict.args = args
	return true
}

// replacedTexts: the texts that edits replaced leave where every line of them stands in the request beside (d).
func (s *survey) replacedTexts() {
	f := s.f
	if f.engine.config.Policy == Lossless {
		return
	}
	for i := range f.facts {
		fa := &f.facts[i]
		if fa.call.action.Op != dialect.Edit || fa.result.Failed {
			continue
		}
		if _, args := s.may(i, fa); !args {
			continue
		}
		var texts []omission
		var paths []string
		for _, r := range fa.call.action.Edits {
			paths = append(paths, r.Path)
			if len(r.Old) >= worth && f.ledger.file(f.keys.key(r.Path)).holds(linesIn(r.Old)) {
				texts = append(texts, omission{r.OldAt, oldLine})
			}
		}
		if len(texts) > 0 && fa.shorten(texts...) {
			fa.verdict.bears, fa.verdict.paths = true, paths
			f.plan.leave(fa.call.at, fa, fa.verdict.args, len(fa.call.args), Arguments)
		}
	}
}

// holds reports whether each of the lines stands in a text of f, blank ones
// aside. The first may be the end of a line there, and the last the beginning.
func (f *file) holds(lines []string) bool {
	var short map[string]bool
	for i, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if len(line) >= minIndexed && f.has(line) {
			continue
		}
		if short == nil {
			short = f.short()
		}
		first, last := i == 0, i == len(lines)-1
		if short[line] || (first || last) && f.tears(line, first, last) {
			continue
		}
		return false
	}
	return true
}

// has reports whether a line of minIndexed bytes or more stands in a text of f.
func (f *file) has(line string) bool {
	for i := range f.ledger.places(line) {
		if f.ledger.texts[i].file == f {
			return true
		}
	}
	return false
}

// short returns the lines of f that are too short for the index.
func (f *file) short() map[string]bool {
	out := make(map[string]bool)
	for _, i := range f.texts {
		for _, line := range f.ledger.texts[i].lines {
			if len(line) < minIndexed {
				out[line] = true
			}
		}
	}
	return out
}

// tears reports whether a part of a line stands in a text of f: at the end of a
// line if it is the first of several, at the beginning if it is the last.
func (f *file) tears(part string, first, last bool) bool {
	for _, i := range f.texts {
		for _, line := range f.ledger.texts[i].lines {
			if first && last && strings.Contains(line, part) || !last && strings.HasSuffix(line, part) || !first && strings.HasPrefix(line, part) {
				return true
			}
		}
	}
	return false
}

// omission is a text that leaves a call's arguments: where it stands there, and the
// line in its place.
type omission struct {
	at   dialect.Place
	line string
}

// omit returns a call's arguments, a JSON object, with a line in place of each text.
// All else stays byte for byte. It reports whether the place of each text is known.
func omit(args string, texts []omission) (string, bool) {
	if !json.Valid([]byte(args)) {
		return "", false
	}
	slices.SortFunc(texts, func(a, b omission) int { return cmp.Compare(a.at.Start, b.at.Start) })
	var b strings.Builder
	end := 0
	for _, t := range texts {
		if !t.at.Known() {
			return "", false
		}
		b.WriteString(args[end:t.at.Start] + `"` + t.line + `"`)
		end = t.at.End
	}
	return b.String() + args[end:], true
}
