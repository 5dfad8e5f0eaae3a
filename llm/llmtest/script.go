package llmtest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/stet-dev/stet/llm"
)

// Script is what the model says, turn by turn. It is written once and drives
// every agent: the server picks, among the tools that the request offers, the
// agent's own one for each [Action].
type Script struct {
	// Root is the absolute path of the workspace. It is put before relative
	// paths for tools that want absolute ones. Empty: paths stay relative.
	Root  string
	Turns []Turn
	// End is the answer when all turns are over; "" is "Done.".
	End string
	// Side is the answer to requests beside the conversation (a title, a
	// summary); "" is "A scripted session".
	Side string
}

// Turn is one answer of the model. A turn without actions ends the agent's
// run; the turns behind it answer the next prompt of the same conversation.
type Turn struct {
	Thinking string // said before the text, where the wire format has a place for it
	Text     string
	Do       []Action
}

// Op says what an Action does.
type Op uint8

const (
	OpRead  Op = iota // Path, First, Last
	OpEdit            // Path, Old, New
	OpWrite           // Path, Content
	OpShell           // Command
	OpCall            // Tool, Args: exactly this call
)

// Action is something that a turn does with one tool call.
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

// ReadLines reads the lines first to last. An agent without ranges reads the
// whole file.
func ReadLines(path string, first, last int) Action {
	return Action{Op: OpRead, Path: path, First: first, Last: last}
}

// Edit replaces old, which must stand in the file once, by new. Both are
// whole lines for agents that edit by patches.
func Edit(path, old, new string) Action {
	return Action{Op: OpEdit, Path: path, Old: old, New: new}
}

// Write writes a whole new file.
func Write(path, content string) Action { return Action{Op: OpWrite, Path: path, Content: content} }

// Shell runs a command line.
func Shell(command string) Action { return Action{Op: OpShell, Command: command} }

// Call calls the named tool with a JSON object of arguments.
func Call(tool, args string) Action { return Action{Op: OpCall, Tool: tool, Args: args} }

// Say is a turn of text with actions.
func Say(text string, do ...Action) Turn { return Turn{Text: text, Do: do} }

// callID is the identity of call c of turn s. Agents keep it, so the next
// request says by itself how far the conversation is.
func callID(prefix string, s, c int) string { return fmt.Sprintf("%s_s%02dc%d", prefix, s, c) }

var callIDPattern = regexp.MustCompile(`_s(\d+)c\d+$`)

// Step returns how many turns of calls req has behind it: one more than the
// highest turn among the calls it answers, known by their identities, or,
// where these are not of this package, the number of runs of tool results. It
// depends on req alone, so that retries and concurrent conversations do not
// disturb each other.
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
	if step == 0 {
		return runs
	}
	return step
}

// step is the index of the turn that req asks for: behind the turns of calls
// also those without, which the user has answered by another prompt.
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
				break // the rest of the message is of the same turn
			}
		}
	}
	return step
}

// answer is the scripted response to req; side reports whether req stands
// beside the conversation.
func (s Script) answer(req *llm.Request, prefix string) (resp llm.Response, step int, side bool) {
	step = s.step(req)
	turn := Turn{Text: s.End}
	if turn.Text == "" {
		turn.Text = "Done."
	}
	if step < len(s.Turns) {
		turn = s.Turns[step]
	}
	if asksForSummary(req) || (len(turn.Do) > 0 && len(offered(req)) == 0) {
		turn, side = Turn{Text: s.Side}, true
		if turn.Text == "" {
			turn.Text = "A scripted session"
		}
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
	"summarize our conversation", "generate a title", "title for this conversation", "checkpoint compaction",
}

// asksForSummary reports whether the last words of req are an agent's own
// demand for a title or a summary.
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
