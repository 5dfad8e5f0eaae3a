package terminal

import (
	"fmt"
	"strings"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
)

// block is a kind of printed text. An empty line separates different kinds.
type block uint8

const (
	blockNone block = iota
	blockUser
	blockProse
	blockThought
	blockCall
	blockNote
	blockQuestion
	blockReplay
)

// print prints lines of a kind. The lines must be safe for a terminal.
func (m *chat) print(kind block, what shape) {
	if m.last != blockNone && (m.last != kind || kind == blockUser || kind == blockQuestion) {
		m.printer.gap()
	}
	m.last = kind
	m.printer.print(what, m.columns())
}

func (m *chat) printUser(text string) {
	m.print(blockUser, func(columns int) []string { return m.painter.user(text, columns) })
}

// user returns the lines of a person's message.
func (pt painter) user(text string, columns int) []string {
	var out []string
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		for _, l := range fold(pt.words("", line), columns-2) {
			mark := "  "
			if len(out) == 0 {
				mark = pt.paint(cyan+bold, "› ")
			}
			out = append(out, mark+pt.paint(bold, l))
		}
	}
	return out
}

// note prints a note.
func (m *chat) note(n note) {
	style, mark := dim, "· "
	if n.wrong {
		style, mark = yellow, "! "
	}
	var all []string
	for _, line := range strings.Split(strings.TrimRight(n.text, "\n"), "\n") {
		all = append(all, m.words(style, mark+line))
		mark = "  "
	}
	m.print(blockNote, folded(all...))
}

// thought returns thinking in one line, or completely.
func (pt painter) thought(text string, columns int, whole bool) []string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if whole {
		var out []string
		for _, line := range lines {
			out = append(out, fold(pt.words(dim, line), columns)...)
		}
		return out
	}
	more := ""
	if len(lines) > 1 {
		more = fmt.Sprintf(" (%d lines)", len(lines))
	}
	return []string{clip(pt.words(dim, "✻ "+short(text, max(columns-len(more)-3, 8))+more), columns)}
}

// call returns a call and its result in one line, or with all of their text.
func (pt painter) call(p llm.Part, result string, failed bool, time string, columns int, whole bool) []string {
	mark, style := pt.paint(green, "● "), ""
	if failed {
		mark, style = pt.paint(red, "✗ "), red
	}
	came := outcome(result, failed)
	if time != "" {
		came = strings.TrimPrefix(came+" · "+time, " · ")
	}
	head := mark + pt.line("", callWords(p.Name, p.Args))
	if came != "" {
		if !failed {
			style = dim
		}
		head += "  " + pt.words(style, came)
	}
	out := []string{clip(head, columns)}
	if failed || columns < 40 {
		out = fold(head, columns) // the reason of a failure is never shortened
	}
	if whole {
		for _, text := range []string{p.Args, result} {
			for _, line := range strings.Split(text, "\n") {
				out = append(out, chop("  "+pt.line(dim, line), columns)...)
			}
		}
	}
	return out
}

// conversation returns the messages of a session. Thinking and calls take one line each, or are shown completely.
func (pt painter) conversation(messages []llm.Message, columns int, whole bool) []string {
	results := map[string]llm.Part{}
	for _, msg := range messages {
		for _, p := range msg.Parts {
			if p.Kind == llm.ToolResult {
				results[p.CallID] = p
			}
		}
	}
	var out []string
	add := func(apart bool, lines ...string) {
		if apart && len(out) > 0 && len(lines) > 0 {
			out = append(out, "")
		}
		out = append(out, lines...)
	}
	calls := false // the previous block was a call
	for _, msg := range messages {
		for _, p := range msg.Parts {
			switch {
			case p.Kind == llm.Text && msg.Role == llm.User && agent.IsReminder(p):
				if whole {
					add(true, pt.thought(p.Text, columns, true)...)
				}
				continue
			case p.Kind == llm.Text && msg.Role == llm.User:
				add(true, pt.user(p.Text, columns)...)
			case p.Kind == llm.Text && msg.Role == llm.Assistant:
				add(true, pt.proseLines(p.Text, columns)...)
			case p.Kind == llm.Thinking:
				add(true, pt.thought(p.Text, columns, whole)...)
			case p.Kind == llm.ToolCall:
				r, ok := results[p.CallID]
				if !ok {
					r.Text, r.IsError = `{"error":"it was cut off"}`, true
				}
				add(!calls || whole, pt.call(p, r.Text, r.IsError, "", columns, whole)...)
				calls = true
				continue
			default:
				continue
			}
			calls = false
		}
	}
	return out
}

func (pt painter) proseLines(text string, columns int) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	p := prose{painter: pt}
	var out []string
	for _, line := range strings.Split(strings.Trim(text, "\n"), "\n") {
		out = append(out, fold(p.line(line), columns)...)
	}
	return out
}

// maxReplayed is the largest number of lines of a resumed conversation that are shown.
const maxReplayed = 200

// replay prints the conversation so far.
func (m *chat) replay() {
	st := m.Talk.State()
	m.print(blockReplay, func(columns int) []string {
		lines := m.conversation(st.Messages, columns, false)
		if more := len(lines) - maxReplayed; more > 0 {
			head := m.paint(dim, clip(fmt.Sprintf("· %s above: Ctrl-O shows all", plural(more, "line")), columns))
			lines = append([]string{head, ""}, lines[more:]...)
		}
		return lines
	})
	m.last = blockProse
	for _, d := range st.Damaged {
		m.note(note{"of the stored session is missing: " + d.String(), true})
	}
	if CutOff(st.Messages) {
		m.note(note{text: "this was cut off; /continue goes on"})
	}
}

// CutOff reports whether a conversation ends before the agent was done.
func CutOff(messages []llm.Message) bool {
	for i := len(messages) - 1; i >= 0; i-- {
		msg := messages[i]
		if msg.Local {
			continue
		}
		if msg.Role != llm.Assistant {
			return true
		}
		for _, p := range msg.Parts {
			if p.Kind == llm.ToolCall {
				return true
			}
		}
		return false
	}
	return false
}
