package terminal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/spinner"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
)

// View implements tea.Model.
func (m *chat) View() tea.View {
	if m.quitting || m.width == 0 { // the first message is the size
		return tea.NewView("")
	}
	if m.full != nil && !m.printer.printing { // a piece would be printed on the pager's screen
		v := tea.NewView(m.full.screen(m.painter))
		v.AltScreen = true
		return v
	}
	lines, cursor := m.screen()
	v := tea.NewView(strings.Join(lines, "\n"))
	v.Cursor = cursor
	return v
}

// reserve returns the number of lines of the screen that no view uses. So many lines can always be printed above the view.
// This is also true for a view that is being replaced.
func (m *chat) reserve() int { return max(m.height/4, 1) }

// screen returns the lines of the view and the cursor. The view keeps the reserve free.
func (m *chat) screen() ([]string, *tea.Cursor) {
	var status []string
	if m.Talk != nil && m.height >= 4 {
		status = []string{m.status()}
	}
	var below []string
	if m.hint != "" {
		below = fold(m.words(dim, m.hint), m.columns())
	}
	var above []string
	var input []string
	if m.writes() {
		input = strings.Split(m.input.View(), "\n")
	}
	switch {
	case m.list != nil:
		above = m.list.view(m.painter, m.columns(), max(m.height-m.reserve()-len(input)-len(status)-len(below), 1))
	case m.deciding != nil || m.closedWhileTyping != "":
		above = m.questionPrompt()
	default:
		above = m.progress()
	}
	if most := max(m.height-m.reserve()-len(input)-len(below)-len(status), 0); len(above) > most {
		above = above[len(above)-most:]
	}
	lines := append(above, input...)
	cursor := m.input.Cursor()
	if len(input) == 0 {
		cursor = nil
	}
	if cursor != nil {
		cursor.Y += len(above)
		cursor.Blink = false
	}
	lines = append(lines, below...)
	lines = append(lines, status...)
	for i := range lines {
		lines[i] = ansi.Truncate(strings.TrimRight(lines[i], " "), m.columns(), "")
	}
	return lines, cursor
}

// progress shows the agent's work, and the messages and questions that wait.
func (m *chat) progress() []string {
	var out []string
	if m.Talk == nil {
		if m.waits && m.covering == "" && !m.answering {
			out = []string{"waiting for questions (q ends)"}
		}
		return out
	}
	if m.turn != nil {
		out = m.working(m.height / 2)
		frames, words := spinner.MiniDot.Frames, m.turn.what
		if m.turn.stopped {
			words = "stopping"
		}
		if t := durationText(time.Since(m.turn.since)); t != "" {
			words += " " + t
		}
		out = append(out, clip(m.paint(cyan, frames[m.turn.frame%len(frames)])+m.paint(dim, " "+words+" · Ctrl-C interrupts"), m.columns()))
	}
	for _, q := range m.queue {
		out = append(out, clip(m.words(dim, "queued: "+short(q, 200)), m.columns()))
	}
	if len(m.asked) > 0 && m.deciding == nil {
		out = append(out, fold(m.words(yellow, "? "+m.asked[0].Title()+": Tab to decide"), m.columns())...)
	}
	return append([]string{""}, out...)
}

// status returns the last line: the fill of the window, model, cost, policy, the largest part of the window and the session, as far as they fit.
func (m *chat) status() string {
	id := m.Talk.ID()
	var parts []string
	for _, part := range []string{m.meter(), m.Model, cost(m.Talk.Spent()), m.Policy, m.most(), id[:min(len(id), 13)]} {
		if with := append(parts, part); part != "" && (parts == nil || ansi.StringWidth(painter{}.words("", strings.Join(with, " · "))) <= m.columns()) {
			parts = with
		}
	}
	return clip(m.words(dim, strings.Join(parts, " · ")), m.columns())
}

// meter returns a bar that shows how full the window is.
func (m *chat) meter() string {
	f := m.fill
	if f.Window == 0 {
		return ""
	}
	const cells = 8
	full := min(cells, (f.Used*cells+f.Window/2)/f.Window)
	return strings.Repeat("▰", full) + strings.Repeat("▱", cells-full) + " " + share(f) + " of " + thousands(f.Window)
}

// most returns the largest part of the window's content.
func (m *chat) most() string {
	all := fillings(m.fill)
	if len(all) == 0 {
		return ""
	}
	return "mostly " + all[0].what
}

// filling is a part of the window's content.
type filling struct {
	what   string
	tokens int
}

// fillings returns the parts of the window's content, the largest first.
func fillings(f agent.Fill) []filling {
	var out []filling
	add := func(what string, n int) {
		if n > 0 {
			out = append(out, filling{what, n})
		}
	}
	add("tool descriptions", f.Tools)
	for _, s := range f.Shares {
		add(shareWords(s.Role, s.Kind), s.Tokens)
	}
	slices.SortStableFunc(out, func(a, b filling) int { return cmp.Compare(b.tokens, a.tokens) })
	return out
}

func shareWords(r llm.Role, k llm.Kind) string {
	switch {
	case r == llm.System:
		return "the system prompt"
	case k == llm.ToolResult:
		return "results of tools"
	case k == llm.ToolCall:
		return "calls of tools"
	case k == llm.Thinking:
		return "thinking"
	case k == llm.Opaque:
		return "images and the like"
	case r == llm.User:
		return "what you said"
	case r == llm.Assistant:
		return "what the model said"
	}
	return "other"
}

func cost(s agent.Spent) string {
	if s.Usage.IsZero() {
		return ""
	}
	if !s.Known {
		return thousands(s.Usage.Prompt()+s.Usage.Output) + " tokens"
	}
	return fmt.Sprintf("$%.2f", s.USD)
}
