package history

import "github.com/stet-dev/stet/llm"

// opening stands in front of a conversation that does not begin with a user's
// message, which no provider accepts.
const opening = mark + "the conversation begins with the assistant's own words.]"

// Normalize returns the messages of a conversation as a provider accepts them
// (CTX-3, TRIM-13): local messages, empty texts, calls without a result and
// results without a call are gone; all results of a turn's calls stand in one
// message of role Tool right after it, in the order in which they came, with
// what stood beside them there, each call answered once; and the first message that is not system text is the
// user's. The messages given are not changed.
func Normalize(messages []llm.Message) []llm.Message {
	paired := pairs(messages)
	out := make([]llm.Message, 0, len(messages))
	waiting := make(map[string]int) // call id → index in out of the Tool message that takes its result
	started := false
	for i, m := range messages {
		if m.Local {
			continue
		}
		var parts []llm.Part
		beside := -1 // of a Tool message: where the result before this part went
		for j, p := range m.Parts {
			if m.Role == llm.Tool && p.Kind != llm.ToolResult {
				if beside >= 0 && (p.Kind != llm.Text || p.Text != "") {
					out[beside].Parts = append(out[beside].Parts, p)
				}
				continue
			}
			switch p.Kind {
			case llm.Text:
				if p.Text == "" {
					continue
				}
			case llm.ToolCall:
				if _, ok := paired[place{i, j}]; !ok {
					continue
				}
			case llm.ToolResult:
				beside = -1
				if _, ok := paired[place{i, j}]; ok {
					at := waiting[p.CallID]
					beside = at
					out[at].Parts = append(out[at].Parts, p)
					if out[at].Time.Before(m.Time) {
						out[at].Time = m.Time
					}
				}
				continue
			}
			parts = append(parts, p)
		}
		if len(parts) == 0 || onlyThoughts(parts) {
			continue
		}
		if !started && m.Role != llm.System {
			started = true
			if m.Role != llm.User {
				out = append(out, llm.Message{Role: llm.User, Parts: []llm.Part{{Text: opening}}})
			}
		}
		m.Parts = parts
		out = append(out, m)
		if hasCalls(parts) {
			for _, p := range parts {
				if p.Kind == llm.ToolCall {
					waiting[p.CallID] = len(out)
				}
			}
			out = append(out, llm.Message{Role: llm.Tool})
		}
	}
	return out
}

// place is the index of a message and of a part in it.
type place struct{ message, part int }

// pairs tells the calls that have a result after them and the results that
// answer them. Where an id is used again, results answer the newest message
// that calls it, in order, and a call takes one result.
func pairs(messages []llm.Message) map[place]place {
	open := make(map[string][]place)
	out := make(map[place]place)
	for i := range messages {
		if messages[i].Local {
			continue
		}
		for j := range messages[i].Parts {
			p := &messages[i].Parts[j]
			waiting := open[p.CallID]
			switch {
			case p.Kind == llm.ToolCall:
				if len(waiting) > 0 && waiting[0].message != i {
					waiting = nil
				}
				open[p.CallID] = append(waiting, place{i, j})
			case p.Kind == llm.ToolResult && len(waiting) > 0:
				open[p.CallID] = waiting[1:]
				out[waiting[0]], out[place{i, j}] = place{i, j}, waiting[0]
			}
		}
	}
	return out
}

func hasCalls(parts []llm.Part) bool {
	for i := range parts {
		if parts[i].Kind == llm.ToolCall {
			return true
		}
	}
	return false
}

// onlyThoughts reports whether nothing but reasoning is left of a message.
// Reasoning alone is not accepted as a turn.
func onlyThoughts(parts []llm.Part) bool {
	for i := range parts {
		if parts[i].Kind != llm.Thinking {
			return false
		}
	}
	return true
}
