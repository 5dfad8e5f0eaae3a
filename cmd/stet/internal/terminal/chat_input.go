package terminal

import (
	"strings"
	"unicode/utf8"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/internal/invisible"
	"github.com/stet-dev/stet/llm"
)

func newInput() textarea.Model {
	in := textarea.New()
	in.SetPromptFunc(2, func(i textarea.PromptInfo) string {
		if i.LineNumber == 0 {
			return "› "
		}
		return "  "
	})
	in.ShowLineNumbers = false
	in.EndOfBufferCharacter = ' '
	in.DynamicHeight, in.MinHeight, in.MaxHeight = true, 1, 8
	in.MaxContentHeight = 10_000
	in.CharLimit = 0
	in.SetVirtualCursor(false)
	in.SetStyles(textarea.Styles{}) // the terminal's own colours
	in.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("shift+enter", "alt+enter", "ctrl+j"))
	in.KeyMap.Paste = key.NewBinding() // the terminal itself pastes
	in.SetWidth(79)
	return in
}

// inputHistory holds the person's earlier messages, for the arrow keys.
type inputHistory struct {
	all   []string
	at    int    // index in all; len(all) is the draft
	draft string // the text that was not sent
}

// load adds the person's messages of a conversation.
func (r *inputHistory) load(t Talk) {
	for _, m := range t.State().Messages {
		if text := personText(m); text != "" {
			r.add(text)
		}
	}
}

// personText returns the person's text in a message, or "".
func personText(m llm.Message) string {
	if m.Role != llm.User || m.Local {
		return ""
	}
	var all []string
	for _, p := range m.Parts {
		if p.Kind == llm.Text && !agent.IsReminder(p) && !agent.IsSummary(p) {
			all = append(all, p.Text)
		}
	}
	return strings.Join(all, "\n")
}

func (r *inputHistory) add(text string) {
	if n := len(r.all); n == 0 || r.all[n-1] != text {
		r.all = append(r.all, text)
	}
	r.at = len(r.all)
}

// move goes back or forward by so many entries. It returns the entry, and whether there is one.
func (r *inputHistory) move(by int, now string) (string, bool) {
	to := r.at + by
	if to < 0 || to > len(r.all) {
		return "", false
	}
	if r.at == len(r.all) {
		r.draft = now
	}
	r.at = to
	if to == len(r.all) {
		return r.draft, true
	}
	return r.all[to], true
}

// paste puts text into the input. Control characters become escapes, so that the person sees what the agent will receive.
func (m *chat) paste(text string) tea.Cmd {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !utf8.ValidString(line) || strings.IndexFunc(line, isControl) >= 0 {
			lines[i] = invisible.Escape(line, func(escape string) string { return escape })
		}
	}
	if m.full != nil {
		return nil
	}
	m.hint, m.again = "", ""
	if m.deciding != nil && m.deciding.byKey() {
		m.hint = "a paste is no answer: press a key"
		return nil
	}
	if !m.writes() {
		return nil
	}
	if m.list != nil || m.deciding != nil || m.closedWhileTyping != "" {
		lines = []string{strings.Join(lines, " ")}
	}
	m.input.InsertString(strings.Join(lines, "\n"))
	m.filter()
	return nil
}

// isControl reports whether r is a control character of terminals.
func isControl(r rune) bool { return r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 }

// key processes a key.
func (m *chat) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	again := m.again
	m.again = ""
	if !m.early() { // otherwise the hint may say why no key counts yet
		m.hint = ""
	}
	if m.full != nil {
		if m.full.key(k) {
			m.full = nil
			if m.resized > 0 {
				return m.redrawLater()
			}
		}
		return nil
	}
	switch name {
	case "ctrl+c":
		return m.ctrlC(again == name || m.Talk == nil)
	case "ctrl+d":
		if m.input.Value() == "" {
			return m.quit()
		}
	case "ctrl+z":
		return tea.Suspend
	case "ctrl+o":
		if m.Talk != nil {
			m.openPager()
		}
		return nil
	case "ctrl+l":
		return tea.ClearScreen
	}
	switch {
	case m.list != nil:
		return m.listKey(k)
	case m.deciding != nil || m.closedWhileTyping != "":
		return m.questionKey(k)
	case m.Talk == nil:
		if name == "q" {
			return m.quit()
		}
		return nil
	}
	return m.writeKey(k, again)
}

// ctrlC interrupts the agent, or clears the input. Pressed twice, it quits.
func (m *chat) ctrlC(again bool) tea.Cmd {
	switch {
	case again:
		m.interrupt()
		m.interrupted = true
		return m.quit()
	case m.list != nil:
		m.leaveList()
	case m.turn != nil:
		m.interrupt()
		m.hint = "Ctrl-C again quits"
	case m.input.Value() != "":
		m.input.Reset()
		m.hint = "Ctrl-C again quits"
	default:
		m.hint = "Ctrl-C again quits"
	}
	m.again = "ctrl+c"
	return nil
}

// writeKey processes a key while the person writes a message to the agent.
func (m *chat) writeKey(k tea.KeyPressMsg, again string) tea.Cmd {
	name := k.String()
	switch name {
	case "esc", "alt+esc":
		return m.escape(name == "alt+esc" || again == "esc")
	case "enter":
		return m.enter()
	case "tab":
		if len(m.asked) > 0 {
			m.decide()
		}
		return nil
	case "up", "ctrl+p":
		if n := len(m.queue); n > 0 && m.input.Value() == "" {
			m.setInput(m.queue[n-1])
			m.queue = m.queue[:n-1]
			return nil
		}
		if m.input.Line() == 0 && m.input.LineInfo().RowOffset == 0 {
			m.recall(-1)
			return nil
		}
	case "down", "ctrl+n":
		if last := m.input.LineInfo(); m.input.Line() == m.input.LineCount()-1 && last.RowOffset == last.Height-1 {
			m.recall(1)
			return nil
		}
	}
	return m.edit(k)
}

// edit passes a key to the input.
func (m *chat) edit(k tea.KeyPressMsg) tea.Cmd {
	var cmd tea.Cmd
	m.input, cmd = m.input.Update(k)
	m.filter()
	return cmd
}

func (m *chat) setInput(text string) {
	m.input.SetValue(text)
	m.input.MoveToEnd()
}

func (m *chat) recall(by int) {
	if text, ok := m.said.move(by, m.input.Value()); ok {
		m.setInput(text)
	}
}

// escape interrupts the agent. Pressed twice, it offers to go back to an earlier message.
func (m *chat) escape(twice bool) tea.Cmd {
	switch {
	case m.turn != nil:
		m.interrupt()
	case twice:
		return m.listMessages()
	default:
		m.hint, m.again = "Esc again goes back to an earlier message", "esc"
	}
	return nil
}

// enter sends the input. If the input ends with a backslash, it begins a new line instead.
func (m *chat) enter() tea.Cmd {
	text := m.input.Value()
	if before, ok := strings.CutSuffix(text, `\`); ok && !strings.HasSuffix(before, `\`) {
		m.setInput(before + "\n")
		return nil
	}
	if strings.TrimSpace(text) == "" {
		return nil
	}
	m.input.Reset()
	m.said.add(text)
	if strings.HasPrefix(text, "/") {
		return m.command(text)
	}
	return m.say(text)
}

func (m *chat) quit() tea.Cmd {
	m.interrupt()
	m.quitting, m.left, m.full = true, true, nil
	if m.Talk == nil {
		return nil
	}
	if id := m.Talk.ID(); id != "" {
		m.printer.gap()
		m.printer.print(folded(m.paint(dim, "stet chat --resume "+id+" goes on with this")), m.columns())
	}
	return nil
}
