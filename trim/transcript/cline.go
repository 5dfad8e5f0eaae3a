package transcript

import (
	"cmp"
	"encoding/json"

	"github.com/stet-dev/stet/llm"
)

// Cline writes the messages of the Messages API as one JSON value. Since 3.x it is an object with the session's data,
// NAME.messages.json. Earlier versions write only the list, api_conversation_history.json.

func isCline(s Shape) bool {
	return s.Has("messages[].role") && (s.Has("system_prompt") || s.Has("sessionId") || s.Has("messages[].modelInfo")) ||
		s.Has("[].role") && s.Has("[].content")
}

type clineMessage struct {
	ID      string          `json:"id"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Time    json.RawMessage `json:"ts"`
	Model   struct {
		ID    string `json:"id"`
		Older string `json:"modelId"`
	} `json:"modelInfo"`
	Metrics json.RawMessage `json:"metrics"`
}

type clineMetrics struct {
	Input      int     `json:"inputTokens"` // including cached tokens
	Output     int     `json:"outputTokens"`
	CacheRead  int     `json:"cacheReadTokens"`
	CacheWrite int     `json:"cacheWriteTokens"`
	Thoughts   int     `json:"thoughtsTokenCount"`
	Cost       skipped `json:"cost"`
	Total      skipped `json:"totalCost"`
}

func (u clineMetrics) usage() *llm.Usage {
	return orNil(llm.Usage{
		Input: uncached(u.Input, u.CacheRead, u.CacheWrite), CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
		Output: u.Output, Reasoning: u.Thoughts,
	})
}

func readCline(src *File) ([]*Session, error) {
	s := &Session{}
	one := decoded(func(m *clineMessage) error {
		s.clineMessage(src, m)
		return nil
	})
	var prompt string
	err := src.Document(func(key string, raw []byte) error {
		switch key {
		case "messages":
			src.Elements(raw, one)
		case "sessionId":
			s.ID = str(raw)
		case "system_prompt":
			prompt = str(raw)
		}
		return nil
	}, one)
	if prompt != "" && len(s.Messages) > 0 {
		s.Messages = append([]llm.Message{{Role: llm.System, Parts: text(prompt)}}, s.Messages...)
	}
	return []*Session{s}, err
}

func (s *Session) clineMessage(src *File, c *clineMessage) {
	t := Timestamp(c.Time)
	parts, results := Blocks(c.Content)
	switch c.Role {
	case "user":
		s.add(llm.Message{Role: llm.Tool, ID: c.ID, Time: t, Parts: results})
		s.add(llm.Message{Role: llm.User, ID: c.ID, Time: t, Parts: parts})
	case "assistant":
		m := llm.Message{Role: llm.Assistant, ID: c.ID, Time: t, Model: cmp.Or(c.Model.ID, c.Model.Older), Parts: parts}
		m.Usage = usageIn[clineMetrics](src, c.Metrics)
		s.add(m)
	}
}
