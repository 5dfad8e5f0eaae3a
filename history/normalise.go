package history

import "github.com/stet-dev/stet/llm"

// opening stands in front of a conversation that does not begin with a user's
// message, which no provider accepts.
const opening = mark + "the conversation begins with the assistant's own words.]"

// Normalize returns the messages of a conversation as a provider accepts them
// (CTX-3, TRIM-13): local messages, empty texts, calls without a result and
// results without a call are gone; all results of a turn's calls stand in one
// message of role Tool right after it, in the order in which they came, each
// call answered once; and the first message that is not system text is the
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
		for j, p := range m.Parts {
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
				if _, ok := paired[place{i, j}]; ok {
					at := waiting[p.CallID]
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
		if calls(parts) {
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
// answer them. Where an id is used again, a result answers the newest call of
// it, and a call takes the first result.
func pairs(messages []llm.Message) map[place]place {
	open := make(map[string]place)
	out := make(map[place]place)
	for i := range messages {
		if messages[i].Local {
			continue
		}
		for j := range messages[i].Parts {
			p := &messages[i].Parts[j]
			switch p.Kind {
			case llm.ToolCall:
				open[p.CallID] = place{i, j}
			case llm.ToolResult:
				if c, ok := open[p.CallID]; ok {
					delete(open, p.CallID)
					out[c], out[place{i, j}] = place{i, j}, c
				}
			}
		}
	}
	return out
}

func calls(parts []llm.Part) bool {
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
