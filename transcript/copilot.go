package transcript

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/stet-dev/stet/llm"
)

// Copilot CLI writes a line for each event, {type, data, id, timestamp, parentId}. Events of a sub-agent name the call that
// started it.

func isCopilot(s shape) bool {
	if !s.has("data", "id", "timestamp") {
		return false
	}
	kind, _, dotted := strings.Cut(s["type"], ".")
	switch kind {
	case "session", "user", "assistant", "tool", "system", "hook":
		return dotted
	}
	return false
}

type copilotLine struct {
	Type      string      `json:"type"`
	ID        string      `json:"id"`
	Timestamp string      `json:"timestamp"`
	Data      copilotData `json:"data"`
}

type copilotData struct {
	SessionID string `json:"sessionId"`
	Version   string `json:"copilotVersion"`
	Context   struct {
		Dir string `json:"cwd"`
	} `json:"context"`
	NewModel string `json:"newModel"`
	Selected string `json:"selectedModel"`

	Content     string `json:"content"`
	Transformed string `json:"transformedContent"` // sent instead of content
	MessageID   string `json:"messageId"`
	Model       string `json:"model"`
	Output      int    `json:"outputTokens"`
	Reasoning   string `json:"reasoningText"`
	Opaque      string `json:"reasoningOpaque"`
	Encrypted   string `json:"encryptedContent"`
	Requests    []struct {
		ID        string          `json:"toolCallId"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"toolRequests"`

	CallID  string `json:"toolCallId"`
	Parent  string `json:"parentToolCallId"`
	Success *bool  `json:"success"`
	Result  struct {
		Content string `json:"content"`
	} `json:"result"`
	Error struct {
		Message string `json:"message"`
	} `json:"error"`

	Summary string `json:"summaryContent"`
}

func readCopilot(src *source) ([]*Session, error) {
	main := &Session{}
	all := []*Session{main}
	agents := map[string]*Session{}
	model := ""
	err := src.lines(func(line []byte) error {
		var l copilotLine
		if err := decode(line, &l); err != nil {
			return err
		}
		d := &l.Data
		switch l.Type {
		case "session.start", "session.resume":
			main.copilotStart(d)
			if d.Selected != "" {
				model = d.Selected
			}
		case "session.model_change":
			model = d.NewModel
		default:
			s := main
			if d.Parent != "" {
				if s = agents[d.Parent]; s == nil {
					s = &Session{ID: main.ID + "/" + d.Parent, Parent: main.ID, Dir: main.Dir, Agent: main.Agent}
					agents[d.Parent] = s
					all = append(all, s)
				}
			}
			s.copilotEvent(&l, model)
		}
		return nil
	})
	return all, err
}

func (s *Session) copilotStart(d *copilotData) {
	s.ID = cmp.Or(s.ID, d.SessionID)
	s.Dir = cmp.Or(s.Dir, d.Context.Dir)
	s.Agent = cmp.Or(s.Agent, d.Version)
}

func (s *Session) copilotEvent(l *copilotLine, model string) {
	d := &l.Data
	t := parseTime(l.Timestamp)
	switch l.Type {
	case "system.message":
		s.copilotSystem(d.Content, t)
	case "user.message":
		s.addUser(cmp.Or(d.Transformed, d.Content), l.ID, t)
	case "assistant.message":
		s.add(copilotAnswer(d, t, model))
	case "tool.execution_complete":
		p := result(d.CallID, d.Result.Content, d.Success != nil && !*d.Success)
		if p.IsError {
			p.Text = cmp.Or(p.Text, d.Error.Message)
		}
		s.add(llm.Message{Role: llm.Tool, ID: l.ID, Time: t, Parts: []llm.Part{p}})
	case "session.compaction_complete":
		if d.Summary != "" && (d.Success == nil || *d.Success) {
			s.start()
			s.addUser(d.Summary, l.ID, t)
		}
	}
}

// copilotSystem adds the system prompt if it is not there yet.
func (s *Session) copilotSystem(prompt string, t time.Time) {
	for _, m := range s.Messages {
		if m.Role == llm.System && m.Parts[0].Text == prompt {
			return
		}
	}
	s.add(llm.Message{Role: llm.System, Time: t, Parts: text(prompt)})
}

// copilotAnswer makes the message of an answer. The file has the size of the answer, but not of the request, so there is no
// usage.
func copilotAnswer(d *copilotData, t time.Time, model string) llm.Message {
	m := llm.Message{Role: llm.Assistant, ID: d.MessageID, Time: t, Model: cmp.Or(d.Model, model)}
	if d.Reasoning != "" || d.Opaque != "" || d.Encrypted != "" {
		raw, _ := json.Marshal(d.Opaque + d.Encrypted) // encoding a string never fails
		m.Parts = append(m.Parts, thinking(d.Reasoning, raw))
	}
	m.Parts = append(m.Parts, text(d.Content)...)
	for _, r := range d.Requests {
		m.Parts = append(m.Parts, call(r.ID, r.Name, r.Arguments))
	}
	return m
}
