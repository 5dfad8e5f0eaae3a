package transcript

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/stet-dev/stet/llm"
)

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
