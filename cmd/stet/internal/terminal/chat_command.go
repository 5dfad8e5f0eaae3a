package terminal

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/stet-dev/stet/agent"
)

// commands are the commands of the chat. A line that begins with a slash is a command.
var commands = []struct{ name, args, about string }{
	{"/help", "", "list the commands and keys"},
	{"/resume", "[ID]", "go on with another session"},
	{"/rewind", "", "go back to before an earlier message (also Esc Esc; at a question Esc cancels the call)"},
	{"/compact", "[FOCUS]", "replace the conversation by a summary, which frees the window; FOCUS says what matters most"},
	{"/continue", "", "let the agent go on where it was cut off"},
	{"/context", "", "what fills the window"},
	{"/cost", "", "what the session has used and cost"},
	{"/quit", "", "leave"},
}

// keys are the keys that are not obvious.
var keys = []struct{ name, about string }{
	{"Enter", `send; Shift-Enter, Alt-Enter or \ at the end: a new line`},
	{"↑ ↓", "what you said before"},
	{"Ctrl-C", "interrupt the agent; twice: leave"},
	{"Ctrl-D", "leave"},
	{"Ctrl-O", "everything in full: thinking, calls, results"},
	{"Tab", "answer the open question"},
}

// helpText lists the commands and the keys.
func helpText(columns int) []string {
	var out []string
	row := func(name, about string) {
		if columns < 50 {
			out = append(out, name, "  "+about)
			return
		}
		out = append(out, fmt.Sprintf("%-18s %s", name, about))
	}
	for _, c := range commands {
		row(strings.TrimSpace(c.name+" "+c.args), c.about)
	}
	out = append(out, "")
	for _, k := range keys {
		row(k.name, k.about)
	}
	return out
}

// command runs the command in a line.
func (m *chat) command(line string) tea.Cmd {
	name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	switch name {
	case "/help":
		m.tell(helpText)
	case "/quit", "/exit":
		return m.quit()
	case "/context":
		f := m.Talk.Fill()
		m.tell(func(columns int) []string { return contextText(f, columns) })
	case "/cost":
		spent := m.Talk.Spent()
		m.tell(func(int) []string { return costText(spent) })
	case "/resume":
		if m.busy() {
			return nil
		}
		if rest != "" && m.Resume != nil {
			return m.resumeByID(rest)
		}
		return m.listSessions()
	case "/rewind":
		return m.listMessages()
	case "/continue":
		if m.busy() {
			return nil
		}
		return m.run(nil)
	case "/compact":
		if m.busy() {
			return nil
		}
		talk := m.Talk
		return m.work("compacting", func(ctx context.Context, tell func(agent.Event)) (agent.Outcome, error) {
			return agent.Outcome{End: agent.Done}, talk.Compact(ctx, rest, tell)
		})
	default:
		m.note(note{fmt.Sprintf("there is no %s; /help says what there is", name), true})
	}
	return nil
}

// tell prints the answer to a command.
func (m *chat) tell(what shape) {
	m.last = blockNone
	m.printer.gap()
	m.print(blockNote, func(columns int) []string {
		var out []string
		for _, line := range what(columns) {
			out = append(out, fold(m.words("", line), columns)...)
		}
		return out
	})
}

// contextText says what fills the context window.
func contextText(f agent.Fill, columns int) []string {
	out := []string{fmt.Sprintf("%s of %s tokens (%s); a summary is made at %s", thousands(f.Used), thousands(f.Window), share(f), thousands(f.Limit))}
	all := fillings(f)
	total, widest := 0, 0
	for _, s := range all {
		total += s.tokens
		widest = max(widest, len(s.what))
	}
	for _, s := range all {
		if columns < 50 {
			out = append(out, fmt.Sprintf("%s: %s", s.what, thousands(s.tokens)))
			continue
		}
		const cells = 20
		bar := strings.Repeat("▰", (s.tokens*cells+total-1)/total)
		out = append(out, fmt.Sprintf("%-*s %6s  %s", widest, s.what, thousands(s.tokens), bar))
	}
	if f.Left > 0 {
		out = append(out, fmt.Sprintf("left out, because it is elsewhere in the request or is old: %s", thousands(f.Left)))
	}
	return out
}

// costText says what a conversation has used and cost.
func costText(s agent.Spent) []string {
	u := s.Usage
	out := []string{
		fmt.Sprintf("input %s, from the cache %s, into the cache %s, output %s",
			thousands(u.Input), thousands(u.CacheRead), thousands(u.CacheWrite), thousands(u.Output)),
	}
	if s.Known {
		return append(out, fmt.Sprintf("$%.4f", s.USD))
	}
	return append(out, "the model's prices are not known")
}
