package anthropic

import (
	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// marker is the value of a cache marker.
const marker = `{"type":"ephemeral"}`

// marks are the places of cache markers in a request. The API accepts at most four. A nil *marks has none.
type marks struct {
	tools bool        // after the last tool, if there is no system text
	parts map[int]int // message index to part index: a marker after this part
}

// marksOf places the markers that cache asks for. The end of the system text is always marked, and with it the tools. So a place
// within it needs no marker. Thinking and opaque parts cannot have a marker; the nearest part before them gets it.
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

// last marks the last possible part of messages. These end before message n.
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

// write writes the marker if part j of message i has one.
func (m *marks) write(w *rawjson.Writer, i, j int) {
	if m == nil {
		return
	}
	if at, ok := m.parts[i]; ok && at == j {
		w.Key("cache_control")
		w.Raw(marker, "")
	}
}

// writeTool writes the marker if tool i of n has one.
func (m *marks) writeTool(w *rawjson.Writer, i, n int) {
	if m != nil && m.tools && i == n-1 {
		w.Key("cache_control")
		w.Raw(marker, "")
	}
}
