package formats

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/openai"
	"github.com/stet-dev/stet/trim/transcript"
)

// The agents whose files hold messages of the Chat Completions API: mini-swe-agent and SWE-agent. OpenHands has such answers in its events.

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
		p, _ := transcript.Blocks(m.ThinkBlock)
		parts = append(parts, p...)
	}
	parts = append(parts, m.words()...)
	for _, c := range m.Calls {
		parts = append(parts, transcript.Call(c.ID, c.Function.Name, c.Function.Arguments))
	}
	return parts
}

// words returns the parts of the content, which is a string or a list of blocks.
func (m *chatMessage) words() []llm.Part {
	parts, _ := transcript.Blocks(m.Content)
	return parts
}

// text returns the texts of the content, separated by line feeds.
func (m *chatMessage) text() string { return strings.Join(transcript.Texts(m.Content), "\n") }

// completeAnswer adds the data of a response to its answer.
func completeAnswer(m *llm.Message, r *chatResponse) {
	if r == nil {
		return
	}
	m.ID, m.Model = r.ID, r.Model
	if u, err := (openai.Chat{}).UsageOf(r.Usage); err == nil && !u.IsZero() {
		m.Usage = &u
	}
	if m.Time.IsZero() {
		m.Time = transcript.Timestamp(r.Created)
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

func isMini(s transcript.Shape) bool {
	return strings.HasPrefix(s["trajectory_format"], "mini-swe-agent") || s.Has("info.mini_version") ||
		s.Has("info.config.agent.action_observation_template") ||
		s.Has("messages[].extra") && s.Has("messages[].role")
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

func readMini(f *transcript.File) ([]*transcript.Session, error) {
	s := &transcript.Session{}
	var calls textCalls
	err := f.Document(func(key string, raw []byte) error {
		switch key {
		case "info":
			var info miniInfo
			err := decode(raw, &info)
			s.Agent, s.Dir, s.Model = info.Version, info.Config.Environment.Dir, info.Config.Model.Name
			return err
		case "instance_id":
			s.ID = stringOf(raw)
		case "messages":
			f.Elements(raw, func(raw []byte) error {
				var m chatMessage
				if err := decode(raw, &m); err != nil {
					calls.answered() // the damaged message may be the result of the last command
					return err
				}
				addMini(s, &m, &calls)
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
	return []*transcript.Session{s}, err
}

func addMini(s *transcript.Session, c *chatMessage, calls *textCalls) {
	m := llm.Message{Role: llm.Role(c.Role), Time: transcript.Timestamp(c.Extra.Timestamp)}
	switch c.Role {
	case "system":
		m.Parts = c.words()
	case "assistant":
		calls.answered()
		m.Parts = c.parts()
		if before, command, after, ok := splitCommand(c.text()); ok && len(c.Calls) == 0 {
			m.Parts = slices.Concat(words(before), []llm.Part{calls.call(command)}, words(after))
		}
		completeAnswer(&m, c.Extra.Response)
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
	add(s, m)
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

func isSWEAgent(s transcript.Shape) bool {
	return s.Has("trajectory") && s.Has("trajectory[]") || s.Has("history[].message_type") || s.Has("swe_agent_version")
}

// sweFile is the part of the object that is read.
type sweFile struct {
	History     []chatMessage `json:"history"`
	Steps       []sweStep     `json:"trajectory"`
	Environment string        `json:"environment"`
	Info        struct {
		Version string `json:"swe_agent_version"`
	} `json:"info"`
	Config json.RawMessage `json:"replay_config"`
}

func readSWEAgent(file *transcript.File) ([]*transcript.Session, error) {
	var f sweFile
	err := readAll(file, &f)
	s := &transcript.Session{ID: f.Environment, Agent: f.Info.Version}
	w := sweReader{s: s}
	w.config(f.Config)
	for i := range f.History {
		w.message(&f.History[i])
	}
	steps := f.Steps
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
	return []*transcript.Session{s}, err
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
	s     *transcript.Session
	model string
	calls textCalls
}

// config reads the name of the model from the configuration, which is JSON in a string.
func (w *sweReader) config(raw json.RawMessage) {
	if text := stringOf(raw); text != "" {
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
		m.Parts = transcript.ResultParts(id, c.Content, false)
	case "user":
		m.Parts = c.words()
		if id := w.calls.answered(); id != "" {
			m.Role, m.Parts = llm.Tool, transcript.ResultParts(id, c.Content, false)
		}
	default:
		return
	}
	if c.Demo {
		if m.Role == llm.Assistant && len(m.Parts) > 0 {
			w.s.Carried = append(w.s.Carried, len(w.s.Messages))
		}
		add(w.s, m)
		return
	}
	add(w.s, m)
}

func (w *sweReader) step(st sweStep) {
	if st.Action == "" {
		add(w.s, llm.Message{Role: llm.Assistant, Parts: text(cmp.Or(st.Thought, st.Response))})
		return
	}
	add(w.s, llm.Message{Role: llm.Assistant, Parts: append(text(st.Thought), w.calls.call(st.Action))})
	add(w.s, llm.Message{Role: llm.Tool, Parts: []llm.Part{result(w.calls.answered(), st.Observation, false)}})
}
