package trim

import (
	"slices"

	"github.com/stet-dev/stet/llm"
)

// Normalize returns the messages of a conversation as a provider accepts them.
// The messages given are not changed.
//
//   - Local messages, empty texts, calls without a result and results without a call
//     leave. A message that nothing but thinking is left of leaves too.
//   - All results of a turn's calls stand in one message of role Tool right after it, in
//     the order in which they came, with what stood beside them. Each call is answered
//     once.
//   - The first message that is not system text is the user's.
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
				if !paired[PartRef{i, j}] {
					continue
				}
			case llm.ToolResult:
				beside = -1
				if paired[PartRef{i, j}] {
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
		if !slices.ContainsFunc(parts, func(p llm.Part) bool { return p.Kind != llm.Thinking }) {
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
		if slices.ContainsFunc(parts, func(p llm.Part) bool { return p.Kind == llm.ToolCall }) {
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

// pairs returns the calls that have a result after them and the results that
// answer them. Where an id is used again, results answer the newest message
// that calls it, in order. A call takes one result.
func pairs(messages []llm.Message) map[PartRef]bool {
	open := make(map[string][]PartRef)
	out := make(map[PartRef]bool)
	for i := range messages {
		if messages[i].Local {
			continue
		}
		for j := range messages[i].Parts {
			p := &messages[i].Parts[j]
			waiting := open[p.CallID]
			switch {
			case p.Kind == llm.ToolCall:
				if len(waiting) > 0 && waiting[0].Message != i {
					waiting = nil
				}
				open[p.CallID] = append(waiting, PartRef{i, j})
			case p.Kind == llm.ToolResult && len(waiting) > 0:
				open[p.CallID] = waiting[1:]
				out[waiting[0]], out[PartRef{i, j}] = true, true
			}
		}
	}
	return out
}
