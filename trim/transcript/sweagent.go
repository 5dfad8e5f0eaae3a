package transcript

import (
	"cmp"
	"encoding/json"

	"github.com/stet-dev/stet/llm"
)

// SWE-agent writes one JSON object, .traj. "trajectory" holds the steps, each with all messages that were sent in it.
// "history" holds each message once. Without function calling the model writes its action in the text, and the next user
// message holds the observation.

func isSWEAgent(s shape) bool {
	return s.has("trajectory") && s.has("trajectory[]") || s.has("history[].message_type") || s.has("swe_agent_version")
}

func readSWEAgent(src *source) ([]*Session, error) {
	s := &Session{}
	w := sweReader{s: s}
	var steps []sweStep
	err := src.document(func(key string, raw []byte) error {
		switch key {
		case "history":
			src.elements(raw, func(raw []byte) error {
				var m chatMessage
				if err := decode(raw, &m); err != nil {
					w.calls.answered() // the damaged message may be the result of the last command
					return err
				}
				w.message(&m)
				return nil
			})
		case "trajectory":
			src.elements(raw, func(raw []byte) error {
				var st sweStep
				err := decode(raw, &st)
				steps = append(steps, st)
				return err
			})
		case "environment":
			s.ID = str(raw)
		case "info":
			var info struct {
				Version string `json:"swe_agent_version"`
			}
			err := decode(raw, &info)
			s.Agent = info.Version
			return err
		case "replay_config":
			w.config(raw)
		}
		return nil
	}, nil)
	if len(s.Messages) == 0 {
		for _, st := range steps {
			w.step(st)
		}
	}
	for i := range s.Messages {
		if m := &s.Messages[i]; m.Role == llm.Assistant {
			m.Model = w.model
		}
	}
	for _, st := range steps {
		s.Dir = cmp.Or(s.Dir, st.State.Dir)
	}
	return []*Session{s}, err
}

// sweStep is a step of a trajectory. It is used for a recording without history.
type sweStep struct {
	Action      string `json:"action"`
	Observation string `json:"observation"`
	Response    string `json:"response"`
	Thought     string `json:"thought"`
	State       struct {
		Dir string `json:"working_dir"`
	} `json:"state"`
}

type sweReader struct {
	s     *Session
	model string
	calls textCalls
}

// config reads the name of the model from the configuration, which is JSON in a string.
func (w *sweReader) config(raw json.RawMessage) {
	if text := str(raw); text != "" {
		raw = json.RawMessage(text)
	}
	var c struct {
		Agent struct {
			Model struct {
				Name string `json:"name"`
			} `json:"model"`
		} `json:"agent"`
	}
	if len(raw) > 0 && decode(raw, &c) == nil {
		w.model = c.Agent.Model.Name
	}
}

func (w *sweReader) message(c *chatMessage) {
	m := llm.Message{Role: llm.Role(c.Role)}
	switch c.Role {
	case "system":
		m.Parts = c.words()
	case "assistant":
		w.calls.answered()
		m.Parts = c.parts()
		if len(c.Calls) == 0 && c.Action != "" {
			m.Parts = append(text(c.Thought), w.calls.call(c.Action))
		}
	case "tool":
		id := c.CallID
		if len(c.CallIDs) > 0 {
			id = c.CallIDs[0]
		}
		m.Parts = resultParts(id, c.Content, false)
	case "user":
		m.Parts = c.words()
		if id := w.calls.answered(); id != "" {
			m.Role, m.Parts = llm.Tool, resultParts(id, c.Content, false)
		}
	default:
		return
	}
	if c.Demo {
		w.s.carry(m)
		return
	}
	w.s.add(m)
}

func (w *sweReader) step(st sweStep) {
	if st.Action == "" {
		w.s.add(llm.Message{Role: llm.Assistant, Parts: text(cmp.Or(st.Thought, st.Response))})
		return
	}
	w.s.add(llm.Message{Role: llm.Assistant, Parts: append(text(st.Thought), w.calls.call(st.Action))})
	w.s.add(llm.Message{Role: llm.Tool, Parts: []llm.Part{result(w.calls.answered(), st.Observation, false)}})
}
