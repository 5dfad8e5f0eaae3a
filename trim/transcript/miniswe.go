package transcript

import (
	"slices"
	"strings"

	"github.com/stet-dev/stet/llm"
)

// mini-swe-agent writes one JSON object with info and messages, in the form in which they were sent. Its first version has
// no tools: the model writes one bash block, and the next user message is the result of the command. The second version
// calls tools.

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
	var calls textCalls
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
					calls.answered() // the damaged message may be the result of the last command
					return err
				}
				s.miniMessage(src, &m, &calls)
				return nil
			})
		}
		return nil
	}, nil)
	if named := s.Model; named != "" { // all answers are from one model
		for i := range s.Messages {
			if m := &s.Messages[i]; m.Role == llm.Assistant && m.Model == "" {
				m.Model = named
			}
		}
	}
	return []*Session{s}, err
}

func (s *Session) miniMessage(src *source, c *chatMessage, calls *textCalls) {
	m := llm.Message{Role: llm.Role(c.Role), Time: parseTimestamp(c.Extra.Timestamp)}
	switch c.Role {
	case "system":
		m.Parts = c.words()
	case "assistant":
		calls.answered()
		m.Parts = c.parts()
		if before, command, after, ok := splitCommand(c.text()); ok && len(c.Calls) == 0 {
			m.Parts = slices.Concat(words(before), []llm.Part{calls.call(command)}, words(after))
		}
		completeAnswer(src, &m, c.Extra.Response)
	case "tool":
		m.Parts = []llm.Part{result(c.CallID, c.text(), false)}
	case "user":
		m.Parts = c.words()
		if id := calls.answered(); id != "" {
			m.Role, m.Parts = llm.Tool, []llm.Part{result(id, c.text(), false)}
		}
	default: // "exit" is a note of the agent
		return
	}
	s.add(m)
}

// words returns a text part, or none for a blank text.
func words(s string) []llm.Part {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return text(s)
}
