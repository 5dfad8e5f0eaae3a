package replay

import (
	"maps"
	"slices"

	"github.com/stet-dev/stet/dialect"
	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm"
)

// trail is what the simple rules see of a context: the results of tools, and
// what was cut so far. The rules of others are built on it.
type trail struct {
	Setting
	messages int
	tokens   int // of all parts, uncut
	left     int // tokens that the cuts save
	turns    int // messages of the user so far
	results  []result
	calls    map[string]*llm.Part
	cuts     map[int]Cut // by index of results
	sorted   []Cut       // of cuts; nil: to be made anew
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

func newTrail(s Setting) trail {
	return trail{Setting: s, calls: make(map[string]*llm.Part), cuts: make(map[int]Cut)}
}

// Add implements Planner.
func (t *trail) Add(m *llm.Message) {
	defer func() { t.messages++ }()
	if m.Local {
		return
	}
	if m.Role == llm.User {
		t.turns++
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		n := t.Count(p)
		t.tokens += n
		switch p.Kind {
		case llm.ToolCall:
			t.calls[p.CallID] = p
		case llm.ToolResult:
			r := result{message: t.messages, part: i, turn: t.turns, call: t.calls[p.CallID], p: p, tokens: n}
			if r.call != nil {
				r.action = dialect.Default().Action(r.call.Name, r.call.Args)
			}
			t.results = append(t.results, r)
		}
	}
}

// Cold implements Planner. None of the rules of others asks for the cache.
func (t *trail) Cold(history.Cause) {}

// cut replaces a result.
func (t *trail) cut(i int, text string, points bool) {
	if _, ok := t.cuts[i]; ok {
		return
	}
	r := &t.results[i]
	t.cuts[i] = Cut{llm.Edit{Message: r.message, Part: r.part, Text: text}, points}
	p := edited(r.p, text)
	t.left += r.tokens - t.Count(&p)
	t.sorted = nil
}

// plan returns the cuts in order.
func (t *trail) plan() Plan {
	if t.sorted == nil && len(t.cuts) > 0 {
		for _, i := range slices.Sorted(maps.Keys(t.cuts)) {
			t.sorted = append(t.sorted, t.cuts[i])
		}
	}
	return Plan{Cuts: t.sorted}
}

// size returns the tokens of the request as it is cut.
func (t *trail) size() int { return t.Fixed + t.tokens - t.left }
