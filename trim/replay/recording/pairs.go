package recording

import "github.com/stet-dev/stet/llm"

// pair finds which result answers which call. Several calls may have one id: a
// result then answers a call of the newest message with that id, the first one
// without a result; if all of them have one, the last.
func (r *Recording) pair() {
	r.callOf, r.resultOf = make(map[int]int), make(map[int]int)
	waiting := make(map[string][]int) // calls by id; the last one is never removed
	for at, part := range r.Parts {
		id := part.CallID
		switch open := waiting[id]; part.Kind {
		case llm.ToolCall:
			if len(open) > 0 && r.Parts[open[0]].Message != part.Message {
				open = nil
			}
			waiting[id] = append(open, at)
		case llm.ToolResult:
			if len(open) == 0 {
				continue
			}
			call := open[0]
			if r.callOf[at] = call; len(open) > 1 {
				waiting[id] = open[1:]
			}
			if _, ok := r.resultOf[call]; !ok {
				r.resultOf[call] = at
			}
		}
	}
}

// Call returns the call that a result answers; nil where there is none.
func (r *Recording) Call(result int) *llm.Part {
	if call, ok := r.callOf[result]; ok {
		return r.Parts[call].Part
	}
	return nil
}

// Result returns the index of the result that answers a call, or the call's own
// where none stands before end.
func (r *Recording) Result(call, end int) int {
	if at, ok := r.resultOf[call]; ok && at < end {
		return at
	}
	return call
}
