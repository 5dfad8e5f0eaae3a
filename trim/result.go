package trim

import (
	"math"
	"strings"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/dialect"
)

// toolResult is the result of a recognised call, and what it says.
type toolResult struct {
	at    PartRef
	turn  int // of the model, counted from 1
	call  *call
	text  string
	end   int       // bytes of the conversation up to its end
	when  time.Time // of the message; where it has none, the latest before it
	shown dialect.Result

	reads    []fileRead // one per file shown; none for a failed result
	stubKeys []string   // keys of the files that the agent's own stub says were read before
	normal   string     // text, in the normal form of an output that shows no file

	placeholder bool // the text is a placeholder and nothing else
	marked      bool // the text holds what looks like the beginning of a placeholder
	pointers    []foundPointer
	sparse      bool // line numbers may be left out
	locked      bool // it has no place in the body, or stays whole: it cannot be shortened

	engine   *Engine
	eviction eviction // of the last cold point
	pointsTo int      // the first message with a result that a pointer in this one names; math.MaxInt: there is none
	calls    int      // calls of tools up to it
}

// fileRead is what a result shows of one file. A file that stands in a batch
// twice is one read with two sections.
type fileRead struct {
	key      string
	path     string // as the agent wrote it
	sections []dialect.Section
	size     int // bytes of text
}

// addResult records one result. It is deduplicated if the policy says so.
func (st *State) addResult(at PartRef, p *llm.Part, when time.Time) {
	c, known := st.callOf(p.CallID)
	res := toolResult{at: at, turn: st.turns, call: c, text: p.Text, normal: p.Text, end: st.bytes, when: when, pointsTo: math.MaxInt, calls: st.callCount, engine: st.engine}
	switch {
	case !known && st.engine.config.ByContent:
		shown, ok := st.engine.table.ByContent(p.Text)
		if !ok {
			st.unknown(p)
			return
		}
		res.shown, c.action.Op = shown, dialect.Read
	case !known || c.action.Op == dialect.Other:
		st.unknown(p)
		return
	default:
		res.shown = st.engine.table.Result(c.action, p.Text, p.IsError)
		if st.engine.config.ByContent && c.action.Op == dialect.Read && len(c.action.Targets) == 0 && !res.shown.Failed {
			if shown, ok := st.engine.table.ByContent(p.Text); ok {
				res.shown = shown
			}
		}
	}
	res.locked = st.engine.config.InPlace && !p.Span.Valid() || st.messages < st.whole
	res.sparse = st.engine.config.sparse() && c.action.EditsByText() && p.Head == "" && !res.locked
	if res.marked = strings.Contains(p.Text, mark); res.marked {
		res.pointers = findPointers(p.Text)
	}
	switch c.action.Op {
	case dialect.Read, dialect.List:
		res.placeholder = isPlaceholder(p.Text)
		res.findReads(st.keys)
		st.plan.Reads += len(res.reads)
		if len(res.reads)+len(res.stubKeys) == 0 && !res.shown.Failed && !res.placeholder {
			st.pathless++
		}
	case dialect.Shell, dialect.Output, dialect.Agent:
		res.placeholder = isPlaceholder(p.Text)
		res.normal = normalOutput(&c.action, p.Text)
		if c.action.Op == dialect.Shell && c.action.Changes() && st.engine.deduplicates() {
			st.named.byCommand(c.action.Command)
			st.named.byShell(c.action.Command)
			st.named.byCommand(strings.ReplaceAll(c.args, `\`, " "))
		}
	case dialect.Edit, dialect.Write:
		for _, t := range c.action.Targets {
			st.named.byEdit(t.Path)
		}
	}
	st.results = append(st.results, res)
	if st.engine.deduplicates() {
		if res := &st.results[len(st.results)-1]; st.given != nil {
			st.repeat(res, st.given)
		} else {
			st.deduplicate(res, nil)
		}
	}
}

// unknown notes a result of a call that was not recognised.
func (st *State) unknown(p *llm.Part) {
	if len(p.Text) >= smallResult || st.engine.config.InPlace && !p.Span.Valid() {
		st.unknownResult = min(st.unknownResult, st.messages)
	}
}

// findReads groups what a result shows by file. Where its sections cannot be
// told apart, the targets of the call name the files. An agent's own stub shows
// nothing, but says that an earlier result shows the file.
func (res *toolResult) findReads(keys *keys) {
	if res.shown.Failed || res.placeholder {
		return
	}
	index := make(map[string]int, 1)
	read := func(path string) *fileRead {
		k := keys.key(path)
		if k == "" {
			return nil
		}
		i, ok := index[k]
		if !ok {
			i = len(res.reads)
			index[k] = i
			res.reads = append(res.reads, fileRead{key: k, path: path})
		}
		return &res.reads[i]
	}
	for i := range res.shown.Sections {
		s := &res.shown.Sections[i]
		if s.Failed {
			continue
		}
		if s.Unchanged {
			res.stubKeys = append(res.stubKeys, keys.key(s.Path))
			continue
		}
		if r := read(s.Path); r != nil {
			r.sections = append(r.sections, *s)
			r.size += s.End - s.Start
		}
	}
	if len(res.shown.Sections) > 0 {
		return
	}
	for _, t := range res.call.action.Targets {
		if res.shown.Unchanged {
			res.stubKeys = append(res.stubKeys, keys.key(t.Path))
		} else if r := read(t.Path); r != nil {
			r.size = len(res.text) / len(res.call.action.Targets)
		}
	}
}

// paths are the files that a result shows, as the agent wrote them.
func (res *toolResult) paths() []string {
	var out []string
	for i := range res.reads {
		out = append(out, res.reads[i].path)
	}
	return out
}

// staying reports whether a batch has a section that stays, however old it is:
// a failed one, or the agent's own stub.
func (res *toolResult) staying() bool {
	for i := range res.shown.Sections {
		if s := &res.shown.Sections[i]; s.Failed || s.Unchanged {
			return true
		}
	}
	return false
}
