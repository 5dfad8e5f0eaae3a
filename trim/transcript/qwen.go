package transcript

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/stet-dev/stet/llm"
)

// Qwen Code writes a line for each record, in a tree by parentUuid. "message" is a Content of generateContent, with role
// and parts.

func isQwen(s Shape) bool {
	return s.Has("uuid", "sessionId") && (s.Has("message.parts") || s.Has("message.parts[]") || s.Has("systemPayload") || s["type"] == "tool_result")
}

type qwenLine struct {
	UUID      string          `json:"uuid"`
	Parent    string          `json:"parentUuid"`
	SessionID string          `json:"sessionId"`
	AgentID   string          `json:"agentId"`
	Timestamp string          `json:"timestamp"`
	Type      string          `json:"type"`
	Subtype   string          `json:"subtype"`
	Dir       string          `json:"cwd"`
	Version   string          `json:"version"`
	Model     string          `json:"model"`
	Message   *qwenContent    `json:"message"`
	Usage     json.RawMessage `json:"usageMetadata"`
	Payload   struct {
		History []qwenContent `json:"compressedHistory"`
	} `json:"systemPayload"`
}

// qwenUsage is the usage object of the Gemini API.
type qwenUsage struct {
	Prompt   int `json:"promptTokenCount"`
	Cached   int `json:"cachedContentTokenCount"`
	Tool     int `json:"toolUsePromptTokenCount"`
	Output   int `json:"candidatesTokenCount"`
	Thoughts int `json:"thoughtsTokenCount"`
	Total    int `json:"totalTokenCount"`
}

func (u qwenUsage) usage() *llm.Usage {
	out := u.Output
	if u.Total == u.Prompt+u.Tool+u.Output+u.Thoughts { // otherwise output includes the thoughts
		out += u.Thoughts
	}
	return orNil(llm.Usage{
		Input: uncached(u.Prompt, u.Cached) + u.Tool, CacheRead: u.Cached, Output: out, Reasoning: u.Thoughts,
	})
}

type qwenContent struct {
	Role  string            `json:"role"`
	Parts []json.RawMessage `json:"parts"`
}

func readQwen(src *File) ([]*Session, error) {
	s := &Session{}
	var entries []entry
	history := map[string][]llm.Message{} // the history in a compression, by its id
	err := linesOf(src, func(l *qwenLine) error {
		if s.ID == "" {
			s.ID, s.Dir, s.Agent = l.SessionID, l.Dir, l.Version
			if l.AgentID != "" {
				s.ID, s.Parent = l.SessionID+"/"+l.AgentID, l.SessionID
			}
		}
		e, old := newQwenEntry(src, l)
		entries, history[e.id] = append(entries, e), old
		return nil
	})
	for _, e := range s.newestBranch(entries) {
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

// newQwenEntry reads a record. If the record is a compression, history is the history after it.
func newQwenEntry(src *File, l *qwenLine) (e entry, history []llm.Message) {
	e = entry{id: l.UUID, parent: l.Parent}
	t := parseTime(l.Timestamp)
	if l.Type == "system" {
		if l.Subtype == "chat_compression" {
			for i := range l.Payload.History {
				history = append(history, qwenMessage(&l.Payload.History[i], "", t))
			}
			e.start = len(history) > 0
		}
		return e, history
	}
	if l.Message == nil {
		return e, nil
	}
	e.message = qwenMessage(l.Message, l.UUID, t)
	if e.message.Role != llm.Assistant {
		return e, nil
	}
	e.message.Model = l.Model
	e.message.Usage = usageIn[qwenUsage](src, l.Usage)
	return e, nil
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
			m.Parts = append(m.Parts, Call(p.Function.ID, p.Function.Name, p.Function.Args))
		case p.Response != nil:
			text, failed, _ := functionResponse(raw)
			m.Role = llm.Tool
			m.Parts = append(m.Parts, result(p.Response.ID, text, failed))
		case p.Thought:
			m.Parts = append(m.Parts, thinking(p.Text, raw))
		case p.Text != "":
			m.Parts = append(m.Parts, llm.Part{Text: p.Text})
		case !strings.Contains(string(raw), `"text"`):
			m.Parts = append(m.Parts, opaque(raw))
		}
	}
	return m
}
