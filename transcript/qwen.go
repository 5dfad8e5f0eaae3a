package transcript

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/stet-dev/stet/llm"
)

// Qwen Code writes a line per record, in a tree by parentUuid; "message" is a
// Content of generateContent, role and parts.

func isQwen(s shape) bool {
	return s.has("uuid", "sessionId") && (s.has("message.parts") || s.has("message.parts[]") || s.has("systemPayload") || s["type"] == "tool_result")
}

type qwenLine struct {
	UUID      string       `json:"uuid"`
	Parent    string       `json:"parentUuid"`
	SessionID string       `json:"sessionId"`
	AgentID   string       `json:"agentId"`
	Timestamp string       `json:"timestamp"`
	Type      string       `json:"type"`
	Subtype   string       `json:"subtype"`
	Dir       string       `json:"cwd"`
	Version   string       `json:"version"`
	Model     string       `json:"model"`
	Message   *qwenContent `json:"message"`
	Usage     *struct {
		Prompt   int `json:"promptTokenCount"`
		Cached   int `json:"cachedContentTokenCount"`
		Output   int `json:"candidatesTokenCount"`
		Thoughts int `json:"thoughtsTokenCount"`
		Total    int `json:"totalTokenCount"`
	} `json:"usageMetadata"`
	Payload struct {
		History []qwenContent `json:"compressedHistory"`
	} `json:"systemPayload"`
}

type qwenContent struct {
	Role  string            `json:"role"`
	Parts []json.RawMessage `json:"parts"`
}

type qwenRecord struct {
	piEntry
	history []llm.Message // of a compression
}

func readQwen(src *source) ([]*Session, error) {
	s := &Session{}
	var records []qwenRecord
	err := src.lines(func(line []byte) error {
		var l qwenLine
		if err := decode(line, &l); err != nil {
			return err
		}
		if s.ID == "" {
			s.ID, s.Dir, s.Agent = l.SessionID, l.Dir, l.Version
			if l.AgentID != "" {
				s.ID, s.Parent = l.SessionID+"/"+l.AgentID, l.SessionID
			}
		}
		records = append(records, qwenRecordOf(&l))
		return nil
	})
	entries := make([]piEntry, len(records))
	history := map[string][]llm.Message{}
	for i, r := range records {
		entries[i] = r.piEntry
		history[r.id] = r.history
	}
	for _, e := range piBranch(entries) {
		if e.start {
			s.start()
			for _, m := range history[e.id] {
				s.carry(m)
			}
		}
		s.add(e.message)
	}
	return []*Session{s}, err
}

func qwenRecordOf(l *qwenLine) qwenRecord {
	r := qwenRecord{piEntry: piEntry{id: l.UUID, parent: l.Parent}}
	t := clock(l.Timestamp)
	if l.Type == "system" {
		if l.Subtype == "chat_compression" && len(l.Payload.History) > 0 {
			r.start = true
			for i := range l.Payload.History {
				r.history = append(r.history, qwenMessage(&l.Payload.History[i], "", t))
			}
		}
		return r
	}
	if l.Message == nil {
		return r
	}
	r.message = qwenMessage(l.Message, l.UUID, t)
	if r.message.Role != llm.Assistant {
		return r
	}
	r.message.Model = l.Model
	if u := l.Usage; u != nil {
		out := u.Output
		if u.Total == u.Prompt+u.Output+u.Thoughts { // else output includes them
			out += u.Thoughts
		}
		r.message.Usage = orNil(llm.Usage{
			Input: uncached(u.Prompt, u.Cached), CacheRead: u.Cached, Output: out, Reasoning: u.Thoughts,
		})
	}
	return r
}

func qwenMessage(c *qwenContent, id string, t time.Time) llm.Message {
	m := llm.Message{Role: llm.User, ID: id, Time: t}
	if c.Role == "model" || c.Role == "assistant" {
		m.Role = llm.Assistant
	}
	for _, raw := range c.Parts {
		var p struct {
			Text     string `json:"text"`
			Thought  bool   `json:"thought"`
			Function *struct {
				ID   string          `json:"id"`
				Name string          `json:"name"`
				Args json.RawMessage `json:"args"`
			} `json:"functionCall"`
			Response *struct {
				ID string `json:"id"`
			} `json:"functionResponse"`
		}
		if decode(raw, &p) != nil {
			continue
		}
		switch {
		case p.Function != nil:
			m.Parts = append(m.Parts, llm.Part{Kind: llm.ToolCall, CallID: p.Function.ID, Name: p.Function.Name, Args: arguments(p.Function.Args)})
		case p.Response != nil:
			text, failed, _ := functionResponse(raw)
			m.Role = llm.Tool
			m.Parts = append(m.Parts, llm.Part{Kind: llm.ToolResult, CallID: p.Response.ID, Text: text, IsError: failed})
		case p.Thought:
			m.Parts = append(m.Parts, llm.Part{Kind: llm.Thinking, Text: p.Text, Raw: string(raw)})
		case p.Text != "":
			m.Parts = append(m.Parts, llm.Part{Text: p.Text})
		case !strings.Contains(string(raw), `"text"`):
			m.Parts = append(m.Parts, llm.Part{Kind: llm.Opaque, Raw: string(raw)})
		}
	}
	return m
}
