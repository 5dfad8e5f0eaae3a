package transcript

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/stet-dev/stet/llm"
)

// chatMessage is a message of the Chat Completions API, as the research agents
// store it, with what they add.
type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Calls      []chatCall      `json:"tool_calls"`
	CallID     string          `json:"tool_call_id"`
	CallIDs    []string        `json:"tool_call_ids"` // SWE-agent
	Thought    string          `json:"thought"`       // SWE-agent
	Action     string          `json:"action"`        // SWE-agent
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
	Usage *chatUsage `json:"usage"`
}

type chatUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	PromptMore struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	OutputMore struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (u *chatUsage) usage() *llm.Usage {
	if u == nil {
		return nil
	}
	return orNil(llm.Usage{
		Input: uncached(u.Prompt, u.PromptMore.Cached), CacheRead: u.PromptMore.Cached,
		Output: u.Completion, Reasoning: u.OutputMore.Reasoning,
	})
}

// parts returns the words, thoughts and calls of a message.
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
		parts = append(parts, llm.Part{
			Kind: llm.ToolCall, CallID: c.ID, Name: c.Function.Name, Args: arguments(c.Function.Arguments),
		})
	}
	return parts
}

// words returns the content: a string, or a list of blocks.
func (m *chatMessage) words() []llm.Part {
	parts, _ := blocks(m.Content)
	return parts
}

// text returns the texts of the content, one after the other.
func (m *chatMessage) text() string { return strings.Join(texts(m.Content), "\n") }

// answered completes an answer with what its response says.
func answered(m *llm.Message, r *chatResponse) {
	if r == nil {
		return
	}
	m.ID, m.Model, m.Usage = r.ID, r.Model, r.Usage.usage()
	if m.Time.IsZero() {
		m.Time = stamp(r.Created)
	}
}

// bashBlock is how an agent without tools writes the command it wants run.
var bashBlock = regexp.MustCompile("(?s)```(?:bash|sh|mswea_bash_command)[ \t]*\n(.*?)\n?```")

// command is the synthetic call of a command that stands in the text of an
// answer. n tells the calls of one session apart.
func command(line string, n int) llm.Part {
	return llm.Part{Kind: llm.ToolCall, CallID: "command-" + strconv.Itoa(n), Name: "bash", Args: object("command", line)}
}

// splitCommand takes the one command out of an answer's text: the words before
// it, the call, the words after it. ok is false unless there is just one.
func splitCommand(text string, n int) (parts []llm.Part, ok bool) {
	found := bashBlock.FindAllStringSubmatchIndex(text, 2)
	if len(found) != 1 {
		return nil, false
	}
	at := found[0]
	if before := text[:at[0]]; strings.TrimSpace(before) != "" {
		parts = append(parts, llm.Part{Text: before})
	}
	parts = append(parts, command(text[at[2]:at[3]], n))
	if after := text[at[1]:]; strings.TrimSpace(after) != "" {
		parts = append(parts, llm.Part{Text: after})
	}
	return parts, true
}
