package transcript

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/stet-dev/stet/llm"
)

// claudeOutLine is a line of a Claude Code session in its written form.
type claudeOutLine struct {
	Parent    *string          `json:"parentUuid"`
	Side      bool             `json:"isSidechain"`
	UserType  string           `json:"userType"`
	Dir       string           `json:"cwd"`
	SessionID string           `json:"sessionId"`
	Version   string           `json:"version"`
	Type      string           `json:"type"`
	Message   claudeOutMessage `json:"message"`
	UUID      string           `json:"uuid"`
	Timestamp string           `json:"timestamp"`
}

type claudeOutMessage struct {
	ID      string          `json:"id,omitempty"`
	Type    string          `json:"type,omitempty"`
	Role    string          `json:"role"`
	Model   string          `json:"model,omitempty"`
	Content []any           `json:"content"`
	Usage   *claudeOutUsage `json:"usage,omitempty"`
}

type claudeOutUsage struct {
	Input      int `json:"input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	Output     int `json:"output_tokens"`
	Creation   struct {
		Hour int `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
}

// WriteClaudeCode writes a conversation in the format of Claude Code's sessions: one JSON object per line, one message per
// object. It omits what the format cannot express: system text, Local messages, reasoning and parts of other providers, and
// bytes that are not UTF-8. It uses only ID, Dir and Messages of the session.
func WriteClaudeCode(w io.Writer, s *Session) error {
	id, err := uuid.Parse(s.ID)
	if err != nil {
		id = uuid.NewSHA1(uuid.NameSpaceOID, []byte(s.ID))
	}
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	var parent *string
	var at time.Time
	for i := range s.Messages {
		m := &s.Messages[i]
		words := claudeOutMessageOf(m)
		if len(words.Content) == 0 {
			continue
		}
		if !m.Time.IsZero() {
			at = m.Time
		}
		self := uuid.NewSHA1(id, fmt.Append(nil, i)).String()
		err := enc.Encode(claudeOutLine{
			Parent: parent, UserType: "external", Dir: s.Dir, SessionID: id.String(), Version: "1.0.0", Type: words.Role,
			Message: words, UUID: self, Timestamp: at.UTC().Format("2006-01-02T15:04:05.000Z"),
		})
		if err != nil {
			return fmt.Errorf("write message %d: %w", i, err)
		}
		parent = &self
	}
	return out.Flush()
}

// claudeOutMessageOf returns the message of a line. A message without content is not written.
func claudeOutMessageOf(m *llm.Message) claudeOutMessage {
	words := claudeOutMessage{Role: "user"}
	if m.Local || m.Role == llm.System {
		return words
	}
	if m.Role == llm.Assistant {
		words.Role, words.Type, words.ID, words.Model = "assistant", "message", m.ID, m.Model
		if u := m.Usage; u != nil {
			words.Usage = &claudeOutUsage{Input: u.Input, CacheWrite: u.CacheWrite, CacheRead: u.CacheRead, Output: u.Output}
			words.Usage.Creation.Hour = u.CacheWrite1h
		}
	}
	for _, p := range m.Parts {
		if b := claudeOutBlock(p); b != nil {
			words.Content = append(words.Content, b)
		}
	}
	return words
}

// claudeOutBlock returns a part as a content block, or nil if the format has none for it.
func claudeOutBlock(p llm.Part) any {
	switch p.Kind {
	case llm.Text:
		if p.Text == "" {
			return nil
		}
		return map[string]string{"type": "text", "text": p.Text}
	case llm.ToolCall:
		return map[string]any{"type": "tool_use", "id": p.CallID, "name": p.Name, "input": claudeOutInput(p.Args)}
	case llm.ToolResult:
		b := map[string]any{"type": "tool_result", "tool_use_id": p.CallID, "content": p.Text}
		if p.IsError {
			b["is_error"] = true
		}
		return b
	}
	var b block
	if json.Unmarshal([]byte(p.Raw), &b) != nil {
		return nil
	}
	switch b.Type {
	case "thinking", "redacted_thinking", "image", "document":
		return json.RawMessage(p.Raw)
	}
	return nil
}

// claudeOutInput returns a call's arguments as an object. Arguments that are not an object become its member "input".
func claudeOutInput(args string) any {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &object) == nil && object != nil {
		return json.RawMessage(args)
	}
	return map[string]string{"input": args}
}
