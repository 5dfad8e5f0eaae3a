package check

import (
	"slices"
	"strings"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/dialect"
)

// What the lines in place of texts say is checked against the request.

// replacedMark is in place of the text that an edit replaced. Package trim writes it.
const replacedMark = "[stet: left out: the text that this edit replaced.]"

// PointerCheck checks the pointers in a placeholder, in place of a result, more strictly than that their lines are somewhere in the request.
type PointerCheck func(v *View, part int, placeholder string) bool

// isTrue reports whether what a placeholder says, in place of a part, is so in the request.
func (v *View) isTrue(part int, placeholder string) bool {
	if v.x.rec.Parts[part].Kind == llm.ToolCall {
		return !strings.Contains(placeholder, replacedMark) || v.replacedTextStands(part, placeholder)
	}
	return v.x.Pointers == nil || v.x.Pointers(v, part, placeholder)
}

// replacedTextStands reports whether the texts that are missing in a call's new
// arguments are in the request, every line of them. The first and the last line
// of a text may be pieces of lines.
func (v *View) replacedTextStands(call int, args string) bool {
	kept := v.ShownAs(call, args)
	for _, text := range v.x.texts[call] {
		if slices.Contains(kept, text) {
			continue
		}
		lines := slices.Collect(strings.Lines(text))
		for i, line := range lines {
			line = Clean(line)
			if line == "" || v.shows(v.x.known([]string{line})) {
				continue
			}
			if i > 0 && i < len(lines)-1 || !v.showsPiece(line) {
				return false
			}
		}
	}
	return true
}

// showsPiece reports whether any part of the request shows a piece of a line.
func (v *View) showsPiece(piece string) bool {
	return v.showsAny(v.partsWith(piece)) ||
		v.anyPlaceholder(func(texts []string) bool { return anyContains(texts, piece) })
}

// stub is a result in which the agent itself says that a file is unchanged since
// an earlier read, and the result of that read.
type stub struct{ part, source int }

// readsByPath holds the reads of a context so far. A stub means the last read of
// its file with the same arguments, or else the last one.
type readsByPath map[string][]read

type read struct {
	part int // the result
	args string
}

// add adds a result. It is true where the result is a stub whose source is in the
// context.
func (reads readsByPath) add(x *Index, part int) (stub, bool) {
	call, p := x.rec.Call(part), x.rec.Parts[part]
	if call == nil {
		return stub{}, false
	}
	table := dialect.Default()
	action := table.Action(call.Name, call.Args)
	if action.Op != dialect.Read {
		return stub{}, false
	}
	result := table.Result(action, p.Text, p.IsError)
	if result.Failed {
		return stub{}, false
	}
	isStub := result.Unchanged
	for _, s := range result.Sections {
		isStub = isStub || s.Unchanged
	}
	for _, t := range action.Targets {
		if !isStub {
			reads[t.Path] = append(reads[t.Path], read{part, call.Args})
			continue
		}
		before := reads[t.Path]
		for i := len(before) - 1; i >= 0; i-- {
			if before[i].args == call.Args {
				return stub{part, before[i].part}, true
			}
		}
		if len(before) > 0 {
			return stub{part, before[len(before)-1].part}, true
		}
	}
	return stub{}, false
}

// checkStubs looks for stubs of the agent whose source was left out.
func (v *View) checkStubs() {
	for _, s := range v.x.stubs {
		if s.part < v.begin || s.part >= v.end || s.source < v.begin || v.dangling[s.part] {
			continue
		}
		if _, replaced := v.replaced[s.part]; replaced || v.showsAny([]int32{int32(s.source)}) {
			continue
		}
		if !v.showsContent(s.source) {
			v.dangling[s.part] = true
		}
	}
}
