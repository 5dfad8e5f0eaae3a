package llmtest

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/stet-dev/stet/llm"
)

// Script lists the model's answers, turn by turn. The same script works with every agent: for each [Action], the server picks the agent's own
// tool among those that the request offers.
type Script struct {
	// Root is the absolute path of the workspace. It is put before relative paths for tools that require absolute ones. Empty: paths
	// stay relative.
	Root  string
	Turns []Turn
	// End is the answer after all turns; "" is "Done.".
	End string
	// Side is the answer to requests outside the conversation (for a title or a summary); "" is "A scripted session".
	Side string
}

// Turn is one answer of the model. A turn without actions ends the agent's run. The turns after it answer the next prompt of the same
// conversation.
type Turn struct {
	Thinking string // sent before the text, if the wire format supports it
	Text     string
	Do       []Action
}

// Op is the operation of an Action.
type Op uint8

const (
	OpRead  Op = iota // Path, First, Last
	OpEdit            // Path, Old, New
	OpWrite           // Path, Content
	OpShell           // Command
	OpCall            // Tool, Args: this exact call
)

// Action is an operation that a turn does with one tool call.
type Action struct {
	Op          Op
	Path        string // relative to the workspace, or absolute
	First, Last int    // lines, 1-based and inclusive; 0, 0 is the whole file
	Old, New    string
	Content     string
	Command     string
	Tool, Args  string
}

// Read reads a whole file.
func Read(path string) Action { return Action{Op: OpRead, Path: path} }

// ReadLines reads the lines first to last. An agent without line ranges reads the whole file.
func ReadLines(path string, first, last int) Action {
	return Action{Op: OpRead, Path: path, First: first, Last: last}
}

// Edit replaces old by new. old must occur once in the file. For agents that edit by patches, both must be whole lines.
func Edit(path, old, new string) Action {
	return Action{Op: OpEdit, Path: path, Old: old, New: new}
}

// Write writes a whole new file.
func Write(path, content string) Action { return Action{Op: OpWrite, Path: path, Content: content} }

// Shell runs a command line.
func Shell(command string) Action { return Action{Op: OpShell, Command: command} }

// Call calls the named tool with a JSON object of arguments.
func Call(tool, args string) Action { return Action{Op: OpCall, Tool: tool, Args: args} }

// Say returns a turn with text and actions.
func Say(text string, do ...Action) Turn { return Turn{Text: text, Do: do} }

// callID returns the id of call c of turn s. Agents keep it, so the next request shows how far the conversation is.
func callID(prefix string, s, c int) string { return fmt.Sprintf("%s_s%02dc%d", prefix, s, c) }

var callIDPattern = regexp.MustCompile(`_s(\d+)c\d+$`)

// Step returns the number of finished turns with calls in req. This is one more than the highest turn among the answered calls, which their
// ids show. If no id is from this package, it is the number of groups of tool results. It depends only on req, so retries
// and concurrent conversations do not affect each other.
func Step(req *llm.Request) int {
	step, runs := 0, 0
	var last llm.Role
	for _, m := range req.Messages {
		if m.Role == llm.Tool && last != llm.Tool {
			runs++
		}
		for _, p := range m.Parts {
			if g := callIDPattern.FindStringSubmatch(p.CallID); g != nil && p.Kind == llm.ToolResult {
				n, _ := strconv.Atoi(g[1])
				step = max(step, n+1)
			}
		}
		last = m.Role
	}
	return cmp.Or(step, runs)
}

// step returns the index of the turn that req asks for. It also counts turns without calls, which the user answered by another prompt.
func (s Script) step(req *llm.Request) int {
	step := Step(req)
	tail := req.Messages
	for i, m := range tail {
		if m.Role == llm.Tool {
			tail = req.Messages[i+1:]
		}
	}
	for _, m := range tail {
		if m.Role != llm.Assistant || step >= len(s.Turns) || len(s.Turns[step].Do) > 0 {
			continue
		}
		for _, p := range m.Parts {
			if p.Kind == llm.Text && p.Text == s.Turns[step].Text {
				step++
				break // the rest of the message belongs to the same turn
			}
		}
	}
	return step
}

// answer returns the scripted response to req. side reports whether req is outside the conversation.
func (s Script) answer(req *llm.Request, prefix string, body []byte) (resp llm.Response, step int, side bool) {
	if text, ok := geminiJSON(body); ok {
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: text}}}}, s.step(req), true
	}
	step = s.step(req)
	turn := Turn{Text: cmp.Or(s.End, "Done.")}
	if step < len(s.Turns) {
		turn = s.Turns[step]
	}
	if asksForSummary(req) || (len(turn.Do) > 0 && len(offered(req)) == 0) {
		turn, side = Turn{Text: cmp.Or(s.Side, "A scripted session")}, true
	}
	msg := llm.Message{Role: llm.Assistant}
	if turn.Thinking != "" {
		msg.Parts = append(msg.Parts, llm.Part{Kind: llm.Thinking, Text: turn.Thinking})
	}
	if turn.Text != "" {
		msg.Parts = append(msg.Parts, llm.Part{Kind: llm.Text, Text: turn.Text})
	}
	for i, a := range turn.Do {
		name, args := render(a, s.Root, req)
		msg.Parts = append(msg.Parts, llm.Part{Kind: llm.ToolCall, CallID: callID(prefix, step, i), Name: name, Args: args})
	}
	return llm.Response{Message: msg}, step, side
}

var summaryPhrases = []string{
	"create a detailed summary", "summarize the conversation", "summarise the conversation",
	"summarize our conversation", "generate a title", "title for this conversation", "single-line task title", "checkpoint compaction",
}

// asksForSummary reports whether the last message of req is the agent's own request for a title or a summary.
func asksForSummary(req *llm.Request) bool {
	for i := len(req.Messages) - 1; i >= 0; i-- {
		m := req.Messages[i]
		if m.Role != llm.User {
			return false
		}
		for _, p := range m.Parts {
			text := strings.ToLower(p.Text)
			for _, phrase := range summaryPhrases {
				if strings.Contains(text, phrase) {
					return true
				}
			}
		}
	}
	return false
}
