package others

import (
	"maps"
	"slices"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/dialect"
	"github.com/stet-dev/stet/trim/replay"
)

// results is what the rules of others see of a context: the results of tools, and
// which of them are left out so far. Their planners embed it. None of these rules asks for the cache.
type results struct {
	replay.Setting
	messages int
	turns    int // messages of the user so far
	all      []result
	calls    map[string]*llm.Part
	leftOut  map[int]replay.Omission // by index of all
	sorted   []replay.Omission       // of leftOut; nil: it must be made again
	tokens   int                     // of all parts, before anything is left out
	saved    int                     // tokens that the omissions save
}

// result is the result of a tool.
type result struct {
	message, part int
	turn          int       // messages of the user before it
	call          *llm.Part // nil where it has none
	p             *llm.Part
	action        dialect.Action
	tokens        int
}

func newResults(s replay.Setting) results {
	return results{Setting: s, calls: make(map[string]*llm.Part), leftOut: make(map[int]replay.Omission)}
}

// Add implements replay.Planner.
func (r *results) Add(m *llm.Message) {
	defer func() { r.messages++ }()
	if m.Local {
		return
	}
	if m.Role == llm.User {
		r.turns++
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		n := r.Count(p)
		r.tokens += n
		switch p.Kind {
		case llm.ToolCall:
			r.calls[p.CallID] = p
		case llm.ToolResult:
			one := result{message: r.messages, part: i, turn: r.turns, call: r.calls[p.CallID], p: p, tokens: n}
			if one.call != nil {
				one.action = dialect.Default().Action(one.call.Name, one.call.Args)
			}
			r.all = append(r.all, one)
		}
	}
}

// leaveOut replaces a result.
func (r *results) leaveOut(i int, placeholder string, pointer bool) {
	if _, ok := r.leftOut[i]; ok {
		return
	}
	one := &r.all[i]
	r.leftOut[i] = replay.Omission{Edit: llm.Edit{Message: one.message, Part: one.part, Text: placeholder}, Pointer: pointer}
	p := *one.p
	p.Text = placeholder
	r.saved += one.tokens - r.Count(&p)
	r.sorted = nil
}

// plan returns the omissions in order.
func (r *results) plan() replay.Plan {
	if r.sorted == nil && len(r.leftOut) > 0 {
		for _, i := range slices.Sorted(maps.Keys(r.leftOut)) {
			r.sorted = append(r.sorted, r.leftOut[i])
		}
	}
	return replay.Plan{Omissions: r.sorted}
}

// size returns the tokens of the request without what is left out.
func (r *results) size() int { return r.Fixed + r.tokens - r.saved }
