package transcript

import (
	"strings"

	"github.com/stet-dev/stet/llm"
)

// mini-swe-agent writes one JSON object: info and messages, as sent. Its first
// version has no tools: the model writes one bash block, and the user message
// that follows is what came of it. The second version calls tools.

func isMini(s shape) bool {
	return strings.HasPrefix(s["trajectory_format"], "mini-swe-agent") || s.has("info.mini_version") ||
		s.has("info.config.agent.action_observation_template") ||
		s.has("messages[].extra") && s.has("messages[].role")
}

type miniInfo struct {
	Version string `json:"mini_version"`
	Config  struct {
		Model struct {
			Name string `json:"model_name"`
		} `json:"model"`
		Environment struct {
			Dir string `json:"cwd"`
		} `json:"environment"`
	} `json:"config"`
}

func readMini(src *source) ([]*Session, error) {
	s := &Session{}
	n := 0      // calls made so far
	asked := "" // the call that waits for its result
	err := src.document(func(key string, raw []byte) error {
		switch key {
		case "info":
			var info miniInfo
			err := decode(raw, &info)
			s.Agent, s.Dir, s.Model = info.Version, info.Config.Environment.Dir, info.Config.Model.Name
			return err
		case "instance_id":
			s.ID = str(raw)
		case "messages":
			src.elements(raw, func(raw []byte) error {
				var m chatMessage
				if err := decode(raw, &m); err != nil {
					asked = "" // the result, if that was it, is lost
					return err
				}
				s.miniMessage(&m, &n, &asked)
				return nil
			})
		}
		return nil
	}, nil)
	if named := s.Model; named != "" { // each answer is by the one model
		for i := range s.Messages {
			if m := &s.Messages[i]; m.Role == llm.Assistant && m.Model == "" {
				m.Model = named
			}
		}
	}
	return []*Session{s}, err
}

func (s *Session) miniMessage(c *chatMessage, n *int, asked *string) {
	m := llm.Message{Role: llm.Role(c.Role), Time: stamp(c.Extra.Timestamp)}
	switch c.Role {
	case "system":
		m.Parts = c.words()
	case "assistant":
		*asked = ""
		m.Parts = c.parts()
		if parts, ok := splitCommand(c.text(), *n+1); ok && len(c.Calls) == 0 {
			*n++
			m.Parts = parts
			for _, p := range parts {
				if p.Kind == llm.ToolCall {
					*asked = p.CallID
				}
			}
		}
		answered(&m, c.Extra.Response)
	case "tool":
		m.Parts = []llm.Part{{Kind: llm.ToolResult, CallID: c.CallID, Text: c.text()}}
	case "user":
		if *asked != "" {
			m.Role = llm.Tool
			m.Parts = []llm.Part{{Kind: llm.ToolResult, CallID: *asked, Text: c.text()}}
			*asked = ""
			break
		}
		m.Parts = c.words()
	default: // "exit": a note of the agent
		return
	}
	s.add(m)
}
