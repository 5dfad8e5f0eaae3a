package transcript

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/stet-dev/stet/llm"
)

// add appends a message. One without parts is dropped.
func (s *Session) add(m llm.Message) {
	if len(m.Parts) > 0 {
		s.Messages = append(s.Messages, m)
	}
}

// addUser appends words to the model that are no result of a tool.
func (s *Session) addUser(words, id string, t time.Time) {
	s.add(llm.Message{Role: llm.User, ID: id, Time: t, Parts: text(words)})
}

// start records that the next message restarts the context. The system text at the head of the conversation is repeated there.
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

// carry appends a message that was taken along into a new context.
func (s *Session) carry(m llm.Message) {
	if m.Role == llm.Assistant && len(m.Parts) > 0 {
		s.Carried = append(s.Carried, len(s.Messages))
		m.Usage = nil
	}
	s.add(m)
}

// lastAssistant returns the newest message, if the model wrote it, or nil.
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

// stamp reads a time: RFC 3339, or a number of seconds or milliseconds since
// 1970. It returns the zero time for anything else.
func stamp(raw json.RawMessage) time.Time {
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
	return clock(str(raw))
}

// clock reads an RFC 3339 time, with or without a zone.
func clock(s string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// str returns the string that raw is, or "".
func str(raw json.RawMessage) string {
	var s string
	if len(raw) > 1 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		return s
	}
	return ""
}

// compact returns JSON without white space, as JavaScript writes it.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// arguments returns a call's arguments as the model wrote them: a string as
// its text, anything else as JSON.
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

// object returns the JSON of a map with one string in it.
func object(key, value string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(map[string]string{key: value}) // a map of strings always encodes
	return strings.TrimSuffix(b.String(), "\n")
}

// list returns the elements of an array, or nil.
func list(raw json.RawMessage) []json.RawMessage {
	var l []json.RawMessage
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &l) != nil {
		return nil
	}
	return l
}
