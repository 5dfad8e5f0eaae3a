package anthropic

import (
	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// marker is what a marked part has.
const marker = `{"type":"ephemeral"}`

// marks are the places up to which the request is to be cached: four at most,
// which is what the API takes. A nil *marks has none.
type marks struct {
	tools bool        // after the last tool, since there is no system text
	parts map[int]int // in message i after part parts[i]
}

// marksOf places what cache asks for. The system text and with it the tools
// are always marked; a place in it needs no mark of its own. Reasoning and
// opaque parts cannot bear one: the nearest part before them does.
func marksOf(cache *llm.Cache, all []llm.Message, sent []sentMessage) *marks {
	if cache == nil {
		return nil
	}
	m := &marks{parts: map[int]int{}}
	first := systemEnd(sent)
	m.tools = !m.last(sent[:first], first)
	for _, end := range cache.Ends(all) {
		n := len(sent)
		for n > first && sent[n-1].index >= end {
			n--
		}
		m.last(sent[first:n], n)
	}
	return m
}

// last marks the last part that can be marked in the messages before message n.
func (m *marks) last(messages []sentMessage, n int) bool {
	for i := len(messages) - 1; i >= 0; i-- {
		parts := messages[i].Parts
		for j := len(parts) - 1; j >= 0; j-- {
			if k := parts[j].Kind; k == llm.Text || k == llm.ToolCall || k == llm.ToolResult {
				m.parts[n-len(messages)+i] = j
				return true
			}
		}
	}
	return false
}

// write writes the marker if part j of message i bears it.
func (m *marks) write(w *rawjson.Writer, i, j int) {
	if m == nil {
		return
	}
	if at, ok := m.parts[i]; ok && at == j {
		w.Key("cache_control")
		w.Raw(marker, "")
	}
}

// writeTool writes the marker if tool i of n bears it.
func (m *marks) writeTool(w *rawjson.Writer, i, n int) {
	if m != nil && m.tools && i == n-1 {
		w.Key("cache_control")
		w.Raw(marker, "")
	}
}
