package transcript

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stet-dev/stet/llm"
)

// The agents of research whose files hold messages of the Chat Completions API: mini-swe-agent and SWE-agent. OpenHands has such answers in
// its events.

// chatMessage is a message of the Chat Completions API in the form in which the research agents store it, with their own
// members.
type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Calls      []chatCall      `json:"tool_calls"`
	CallID     string          `json:"tool_call_id"`
	CallIDs    []string        `json:"tool_call_ids"` // SWE-agent
	Thought    string          `json:"thought"`       // SWE-agent
	Action     string          `json:"action"`        // SWE-agent
	Demo       bool            `json:"is_demo"`       // SWE-agent: an example that belongs to the prompt
	Reasoning  string          `json:"reasoning_content"`
	ThinkBlock json.RawMessage `json:"thinking_blocks"` // SWE-agent
	Extra      struct {
		Response  *chatResponse   `json:"response"`
		Timestamp json.RawMessage `json:"timestamp"`
	} `json:"extra"` // mini-swe-agent
}

type chatCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// chatResponse is an answer of the Chat Completions API.
type chatResponse struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Created json.RawMessage `json:"created"`
	Choices []struct {
		Message chatMessage `json:"message"`
	} `json:"choices"`
	Usage json.RawMessage `json:"usage"`
}

// parts returns the text, the thinking and the calls of a message.
func (m *chatMessage) parts() []llm.Part {
	var parts []llm.Part
	if m.Reasoning != "" {
		parts = append(parts, llm.Part{Kind: llm.Thinking, Text: m.Reasoning})
	}
	if len(m.ThinkBlock) > 0 {
		p, _ := blocks(m.ThinkBlock)
		parts = append(parts, p...)
	}
	parts = append(parts, m.words()...)
	for _, c := range m.Calls {
		parts = append(parts, call(c.ID, c.Function.Name, c.Function.Arguments))
	}
	return parts
}

// words returns the parts of the content, which is a string or a list of blocks.
func (m *chatMessage) words() []llm.Part {
	parts, _ := blocks(m.Content)
	return parts
}

// text returns the texts of the content, separated by line feeds.
func (m *chatMessage) text() string { return strings.Join(texts(m.Content), "\n") }

// completeAnswer adds the data of a response to its answer.
func completeAnswer(src *source, m *llm.Message, r *chatResponse) {
	if r == nil {
		return
	}
	m.ID, m.Model, m.Usage = r.ID, r.Model, src.usageOf(r.Usage, chatUsage)
	if m.Time.IsZero() {
		m.Time = parseTimestamp(r.Created)
	}
}

// bashBlock is the form in which an agent without tools writes a command to run.
var bashBlock = regexp.MustCompile("(?s)```(?:bash|sh|mswea_bash_command)[ \t]*\n(.*?)\n?```")

// splitCommand finds the command in an answer's text. ok is false if there is not exactly one.
func splitCommand(text string) (before, command, after string, ok bool) {
	found := bashBlock.FindAllStringSubmatchIndex(text, 2)
	if len(found) != 1 {
		return "", "", "", false
	}
	at := found[0]
	return text[:at[0]], text[at[2]:at[3]], text[at[1]:], true
}

// textCalls makes calls from commands in the text of answers. The next message of the user is the result.
type textCalls struct {
	made    int
	waiting string // the call that has no result yet
}

func (c *textCalls) call(command string) llm.Part {
	c.made++
	c.waiting = "command-" + strconv.Itoa(c.made)
	return llm.Part{Kind: llm.ToolCall, CallID: c.waiting, Name: "bash", Args: object("command", command)}
}

// answered returns the call that has no result yet, or "".
func (c *textCalls) answered() string {
	id := c.waiting
	c.waiting = ""
	return id
}

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
