package replay

import "github.com/stet-dev/stet/llm"

// pairs tell which result answers which call. An id may come again: then a
// result answers a call of the newest message with that id, the first one that
// waits; if none does, the last.
type pairs struct {
	calls   map[int]int // by result: the call that it answers
	results map[int]int // by call: the first result that answers it
}

func newPairs(parts []partRef) pairs {
	p := pairs{calls: make(map[int]int), results: make(map[int]int)}
	waiting := make(map[string][]int) // calls by id; the last one stays
	for at, ref := range parts {
		id := ref.part.CallID
		switch open := waiting[id]; ref.part.Kind {
		case llm.ToolCall:
			if len(open) > 0 && parts[open[0]].message != ref.message {
				open = nil
			}
			waiting[id] = append(open, at)
		case llm.ToolResult:
			if len(open) == 0 {
				continue
			}
			call := open[0]
			if p.calls[at] = call; len(open) > 1 {
				waiting[id] = open[1:]
			}
			if _, ok := p.results[call]; !ok {
				p.results[call] = at
			}
		}
	}
	return p
}

// callOf returns the call that a result answers; nil where there is none.
func (r *recording) callOf(at int) *llm.Part {
	if call, ok := r.pairs.calls[at]; ok {
		return r.parts[call].part
	}
	return nil
}

// answer returns the block of the result that answers a call, or the call's
// own where there is none before end.
func (r *recording) answer(call, end int) int {
	if at, ok := r.pairs.results[call]; ok && at < end {
		return at
	}
	return call
}
