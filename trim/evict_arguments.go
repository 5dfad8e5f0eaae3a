package trim

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/stet-dev/stet/trim/dialect"
)

// argument is a text that leaves the arguments of a call: where it stands there, and the
// placeholder in its place.
type argument struct {
	at          dialect.Span
	placeholder string
}

// evictArguments has texts leave the arguments of a result's call, if that is worth it.
func (res *toolResult) evictArguments(texts ...argument) bool {
	args, ok := withoutTexts(res.call.args, texts)
	if !ok || len(args)+worth > len(res.call.args) {
		return false
	}
	res.eviction.args = args
	return true
}

// withoutTexts returns the arguments of a call, a JSON object, with a placeholder for
// each text. All else stays byte for byte. It reports whether the place of each text is
// known.
func withoutTexts(args string, texts []argument) (string, bool) {
	if !json.Valid([]byte(args)) {
		return "", false
	}
	slices.SortFunc(texts, func(a, b argument) int { return cmp.Compare(a.at.Start, b.at.Start) })
	var b strings.Builder
	end := 0
	for _, t := range texts {
		if !t.at.Known() {
			return "", false
		}
		b.WriteString(args[end:t.at.Start] + `"` + t.placeholder + `"`)
		end = t.at.End
	}
	return b.String() + args[end:], true
}

// replacedTexts chooses the texts that edits replaced, where every line of them stands in
// the request beside. It goes by the ledger of the plan that is made already. It reports whether any leave.
func (s *evictionScan) replacedTexts() (leave bool) {
	if !s.policy(Adaptive) {
		return false
	}
	st := s.st
	for i := range st.results {
		res := &st.results[i]
		if res.call.action.Op != dialect.Edit || res.shown.Failed {
			continue
		}
		if _, args := s.mayLeave(i); !args {
			continue
		}
		var texts []argument
		var paths []string
		for _, e := range res.call.action.Edits {
			paths = append(paths, e.Path)
			if len(e.Old) >= worth && st.ledger.file(st.keys.key(e.Path)).holds(splitLines(e.Old)) {
				texts = append(texts, argument{e.OldAt, replacedPlaceholder})
			}
		}
		if len(texts) > 0 && res.evictArguments(texts...) {
			res.eviction.shown, res.eviction.paths = true, paths
			st.plan.replaceArguments(res, res.eviction.args, paths)
			leave = true
		}
	}
	return leave
}

// holds reports whether each of the lines stands in a passage of f, blank ones
// aside.
func (f *file) holds(lines []string) bool {
	var short map[string]bool // made when it is needed
	for _, line := range lines {
		if strings.TrimSpace(line) == "" || len(line) >= minIndexed && f.has(line) {
			continue
		}
		if short == nil {
			short = f.shortLines()
		}
		if !short[line] {
			return false
		}
	}
	return true
}

// has reports whether a line of minIndexed bytes or more stands in a passage of f.
func (f *file) has(line string) bool {
	for i := range f.ledger.places(line) {
		if f.ledger.passages[i].file == f {
			return true
		}
	}
	return false
}

// shortLines returns the lines of f that are too short for the index.
func (f *file) shortLines() map[string]bool {
	out := make(map[string]bool)
	for _, i := range f.passages {
		for _, line := range f.ledger.passages[i].lines {
			if len(line) < minIndexed {
				out[line] = true
			}
		}
	}
	return out
}
