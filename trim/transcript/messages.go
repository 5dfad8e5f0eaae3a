package transcript

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/stet-dev/stet/llm"
)

// How readers make a conversation: messages are added in order, and their parts are made here. Several agents store
// the content of a message as blocks of the Messages API.

// add appends a message. A message without parts is dropped. If it is an answer, it is billed.
func (s *Session) add(m llm.Message) {
	if len(m.Parts) > 0 {
		s.Messages = append(s.Messages, m)
		return
	}
	s.charge(Empty, m)
}

// charge bills an answer that is not in the conversation as it was sent. Nothing is billed without usage.
func (s *Session) charge(kind Kind, m llm.Message) {
	if m.Role == llm.Assistant && !m.Local && m.Usage != nil {
		s.Answers = append(s.Answers, Answer{
			ID: m.ID, Request: m.Request, Time: m.Time, Model: m.Model, Kind: kind, Usage: *m.Usage, Message: -1, Parts: m.Parts,
		})
	}
}

// addUser appends a text to the model that is not a result of a tool.
func (s *Session) addUser(words, id string, t time.Time) {
	s.add(llm.Message{Role: llm.User, ID: id, Time: t, Parts: text(words)})
}

// start records that the next message begins a new context. It repeats the system text at the head of the conversation.
func (s *Session) start() {
	n := len(s.Messages)
	if n == 0 || len(s.Starts) > 0 && s.Starts[len(s.Starts)-1] >= n {
		return
	}
	head := 0
	for head < n && s.Messages[head].Role == llm.System {
		head++
	}
	if head == n {
		return
	}
	s.Starts = append(s.Starts, n)
	s.Messages = append(s.Messages, s.Messages[:head]...)
}

// carry appends a message that the agent took along into a new context.
func (s *Session) carry(m llm.Message) {
	if m.Role == llm.Assistant && len(m.Parts) > 0 {
		s.Carried = append(s.Carried, len(s.Messages))
		m.Usage = nil
	}
	s.add(m)
}

// lastAssistant returns the newest message of the model, if only results follow it, or nil.
func (s *Session) lastAssistant() *llm.Message {
	for i := len(s.Messages) - 1; i >= 0; i-- {
		m := &s.Messages[i]
		if m.Role == llm.Assistant && !m.Local {
			return m
		}
		if m.Role != llm.Tool {
			return nil
		}
	}
	return nil
}

// parseTimestamp reads a time: an RFC 3339 string, or a number of seconds or milliseconds since 1970. It returns the zero time for
// anything else.
func Timestamp(raw json.RawMessage) time.Time {
	if len(raw) == 0 {
		return time.Time{}
	}
	if raw[0] != '"' {
		var n float64
		if json.Unmarshal(raw, &n) != nil || n <= 0 || n > 1e14 {
			return time.Time{}
		}
		if n > 1e11 {
			return time.UnixMilli(int64(n)).UTC()
		}
		return time.Unix(int64(n), 0).UTC()
	}
	return parseTime(str(raw))
}

// parseTime reads an RFC 3339 time, with or without a time zone. It returns the zero time for anything else.
func parseTime(s string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// str returns the value of a JSON string, or "" for anything else.
func str(raw json.RawMessage) string {
	var s string
	if len(raw) > 1 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		return s
	}
	return ""
}

// compact returns JSON without white space, which is the form that JavaScript writes.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// arguments returns a call's arguments in the form in which the model wrote them: the text of a string, or JSON.
func arguments(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return "{}"
	case raw[0] == '"':
		return str(raw)
	}
	return compact(raw)
}

// list returns the elements of a JSON array, or nil.
func list(raw json.RawMessage) []json.RawMessage {
	var l []json.RawMessage
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &l) != nil {
		return nil
	}
	return l
}

// text returns a text part, or none for an empty text.
func text(s string) []llm.Part {
	if s == "" {
		return nil
	}
	return []llm.Part{{Text: s}}
}

func thinking(text string, raw json.RawMessage) llm.Part {
	return llm.Part{Kind: llm.Thinking, Text: text, Raw: string(raw)}
}

func Call(id, name string, args json.RawMessage) llm.Part {
	return llm.Part{Kind: llm.ToolCall, CallID: id, Name: name, Args: arguments(args)}
}

func result(id, text string, failed bool) llm.Part {
	return llm.Part{Kind: llm.ToolResult, CallID: id, Text: text, IsError: failed}
}

func opaque(raw json.RawMessage) llm.Part {
	return llm.Part{Kind: llm.Opaque, Raw: string(raw)}
}

// block is a content block of the Messages API, in the form in which several agents store it.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Arguments json.RawMessage `json:"arguments"` // pi's name for input
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

// blocks reads the content of a message, which is a string or a list of blocks. It returns the results of tools separately
// from the other parts.
func Blocks(content json.RawMessage) (parts, results []llm.Part) {
	if len(content) == 0 {
		return nil, nil
	}
	if content[0] == '"' {
		return text(str(content)), nil
	}
	for _, raw := range list(content) {
		var b block
		if decode(raw, &b) != nil {
			continue
		}
		switch b.Type {
		case "text":
			parts = append(parts, text(b.Text)...)
		case "thinking", "redacted_thinking":
			parts = append(parts, thinking(b.Thinking, raw))
		case "toolCall": // pi
			parts = append(parts, Call(b.ID, b.Name, b.Arguments))
		case "tool_use":
			parts = append(parts, Call(b.ID, b.Name, b.Input))
		case "tool_result":
			results = append(results, ResultParts(b.ToolUseID, b.Content, b.IsError)...)
		case "":
		default: // images, documents, server tools
			parts = append(parts, opaque(raw))
		}
	}
	return parts, results
}

// resultParts reads the content of a tool's result. Its texts become one ToolResult. Images follow it as Opaque parts. If
// the content is a list of something else than blocks, the result's text is the list as JSON, because it was sent in this
// form.
func ResultParts(id string, content json.RawMessage, isError bool) []llm.Part {
	if len(content) > 0 && content[0] == '"' {
		return []llm.Part{result(id, str(content), isError)}
	}
	var texts []string
	var others []llm.Part
	for _, raw := range list(content) {
		var b block
		switch err := decode(raw, &b); {
		case err != nil || b.Type == "":
			return []llm.Part{result(id, compact(content), isError)}
		case b.Type == "text":
			texts = append(texts, b.Text)
		default:
			others = append(others, opaque(raw))
		}
	}
	return append([]llm.Part{result(id, strings.Join(texts, "\n"), isError)}, others...)
}

// texts returns the strings in a value: the value itself, the elements of a list, the texts of blocks, and the content of a
// file.
func Texts(raw json.RawMessage) []string {
	if len(raw) == 0 {
		return nil
	}
	var all []string
	switch raw[0] {
	case '"':
		if s := str(raw); s != "" {
			all = []string{s}
		}
	case '[':
		for _, e := range list(raw) {
			all = append(all, Texts(e)...)
		}
	case '{':
		var v struct {
			Text    string          `json:"text"`
			Content json.RawMessage `json:"content"`
			File    json.RawMessage `json:"file"`
		}
		if decode(raw, &v) == nil {
			if v.Text != "" {
				all = append(all, v.Text)
			}
			all = append(all, Texts(v.Content)...)
			all = append(all, Texts(v.File)...)
		}
	}
	return all
}
