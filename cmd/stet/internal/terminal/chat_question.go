package terminal

import (
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/stet-dev/stet/files/approval"
)

// question processes an event of the questions.
func (m *chat) question(e approval.Event) {
	switch {
	case e.Opened != nil:
		m.asked = append(m.asked, *e.Opened)
		if m.deciding == nil && m.closedWhileTyping == "" && m.list == nil && m.input.Value() == "" {
			m.decide() // otherwise the person is busy, and opens the question with Tab
			m.unprompted = true
		}
	case e.Closed != nil:
		m.questionClosed(*e.Closed)
	}
}

// questionClosed processes the closing of a question, here or elsewhere.
func (m *chat) questionClosed(c approval.Closing) {
	if m.asked.find(c.ID) < 0 {
		return // it was answered here
	}
	m.asked.remove(c.ID)
	if m.deciding == nil || m.deciding.q.ID != c.ID {
		return
	}
	m.deciding = nil
	m.note(note{text: "no longer open: " + c.String()})
	if m.input.Value() != "" {
		m.closedWhileTyping = c.String() // what was typed must not answer the next question
		return
	}
	m.leaveQuestion(true)
}

// decide shows the first question.
func (m *chat) decide() {
	m.draft = m.input.Value()
	m.empty()
	m.deciding = &decision{q: m.asked[0], editor: m.Editor != "", open: func() int { return len(m.asked) }}
	m.unprompted = false
	m.waitForQuiet()
	m.showQuestion(100)
}

// waitForQuiet makes the question accept keys only after no key was pressed for quietTime. A key that is held down, or was
// meant for something else, must not answer it.
func (m *chat) waitForQuiet() {
	m.ready = false
	m.waits++
	waits := m.waits
	m.later = tea.Batch(m.later, tea.Tick(quietTime, func(time.Time) tea.Msg {
		return then(func() tea.Cmd {
			m.ready = m.ready || waits == m.waits
			return nil
		})
	}))
}

// earlyKey processes a key that is pressed before the question accepts keys. If the person was beginning to write when the
// question appeared, the key goes to the input, and the question is put aside.
func (m *chat) earlyKey(k tea.KeyPressMsg) tea.Cmd {
	if m.unprompted && k.Text != "" {
		m.deciding = nil
		m.setInput(m.draft)
		m.draft = ""
		return m.edit(k)
	}
	m.waitForQuiet()
	return nil
}

// showQuestion prints the question, and at most that many lines of its diff; -1: all of them.
func (m *chat) showQuestion(most int) {
	q := m.deciding.q
	q.Client, q.Session = "", "" // the person knows who asks
	lines, unseen := m.painter.question(q, most)
	m.deciding.unseen = unseen
	m.print(blockQuestion, func(columns int) []string {
		var out []string
		inDiff := q.Outside()
		for _, line := range lines {
			line = strings.ReplaceAll(line, "\t", "    ")
			inDiff = inDiff || strings.HasPrefix(ansi.Strip(line), "--- ")
			if inDiff { // the spaces of a diff must stay
				out = append(out, chop(line, columns)...)
			} else {
				out = append(out, fold(line, columns)...)
			}
		}
		return out
	})
}

// questionPrompt returns the prompt of the next line of a decision.
func (m *chat) questionPrompt() []string {
	text := "Enter goes on"
	switch {
	case m.deciding != nil && m.deciding.byKey() && !m.ready:
		text = "…"
	case m.deciding != nil:
		text = m.deciding.prompt()
	}
	out := []string{""}
	for _, line := range fold(m.words("", text), m.columns()) {
		out = append(out, m.paint(bold, line))
	}
	return out
}

// questionKey processes a key while a question is shown.
func (m *chat) questionKey(k tea.KeyPressMsg) tea.Cmd {
	byKey := m.deciding != nil && m.deciding.byKey()
	switch {
	case byKey && !m.ready:
		return m.earlyKey(k)
	case byKey && k.Text != "":
		return m.follow(m.deciding.typed(k.Text))
	}
	switch k.String() {
	case "enter":
		line := m.input.Value()
		m.empty()
		if m.deciding == nil {
			m.leaveQuestion(true)
			return nil
		}
		return m.follow(m.deciding.typed(line))
	case "esc", "alt+esc":
		typed := m.input.Value() != ""
		m.empty()
		switch {
		case m.deciding == nil:
			m.leaveQuestion(true)
		case !typed || m.deciding.stage != choosing: // if there is typed text, Esc only clears it
			return m.follow(m.deciding.escaped())
		}
		return nil
	case "shift+enter", "alt+enter", "ctrl+j":
		return nil // an answer is one line
	}
	if byKey {
		return nil
	}
	return m.edit(k)
}

// follow performs the next step of a decision.
func (m *chat) follow(next step) tea.Cmd {
	switch {
	case next.answer.Verdict != "":
		return m.answerWith(next.answer)
	case next.edit:
		return m.openEditor()
	case next.show:
		m.showQuestion(-1)
	case next.err != nil:
		m.note(note{next.err.Error(), true})
	case next.note != "":
		m.note(note{text: next.note})
	case errors.Is(next.leave, errQuit):
		return m.quit()
	case errors.Is(next.leave, errList):
		m.listQuestions()
	case errors.Is(next.leave, errNext):
		m.asked.rotate()
		m.leaveQuestion(len(m.asked) > 1)
	}
	return nil
}

// listQuestions lists the open questions.
func (m *chat) listQuestions() {
	p := &picker{title: "Decide on which first?"}
	for _, q := range m.asked {
		p.all = append(p.all, choice{text: q.Title(), id: q.ID})
	}
	p.chosen = func(c choice) tea.Cmd {
		if i := m.asked.find(c.id); i >= 0 { // otherwise it was answered elsewhere
			q := m.asked[i]
			m.asked = slices.Insert(slices.Delete(m.asked, i, i+1), 0, q)
		}
		p.left()
		return nil
	}
	p.left = func() {
		if len(m.asked) > 0 {
			m.decide()
		}
	}
	draft := m.draft
	m.deciding = nil
	m.open(p)
	m.draft = draft
}

// leaveQuestion closes the question on the screen. It shows the next one, or restores the text that was in the input.
func (m *chat) leaveQuestion(showNext bool) {
	m.deciding, m.closedWhileTyping = nil, ""
	if showNext && len(m.asked) > 0 {
		draft := m.draft
		m.decide()
		m.draft = draft
		return
	}
	m.setInput(m.draft)
	m.draft = ""
}

// answerWith sends an answer.
func (m *chat) answerWith(a approval.Answer) tea.Cmd {
	q := m.deciding.q
	m.asked.remove(q.ID)
	m.deciding = nil
	src, ctx := m.Questions, m.ctx
	return m.start(func() then {
		err := src.Answer(ctx, q.ID, a)
		return func() tea.Cmd { return m.answered(q, a, err) }
	})
}

// answered shows whether an answer was accepted.
func (m *chat) answered(q approval.Question, a approval.Answer, err error) tea.Cmd {
	switch {
	case err == nil:
		m.note(note{text: approval.Closing{How: string(a.Verdict)}.String() + ": " + q.Subject()})
	case errors.Is(err, approval.ErrAnswered), errors.Is(err, approval.ErrUnknown), errors.Is(err, approval.ErrClosed):
		m.note(note{err.Error(), true})
	default:
		m.note(note{err.Error(), true})
		m.asked = append(questions{q}, m.asked...) // the question is still open
	}
	if m.deciding == nil && m.closedWhileTyping == "" && m.list == nil {
		m.leaveQuestion(true)
	}
	return nil
}

// openEditor opens the text of the question in the person's editor.
func (m *chat) openEditor() tea.Cmd {
	q, chat, src, ctx := m.deciding.q, m.Chat, m.Questions, m.ctx
	return m.start(func() then {
		before, err := src.Content(ctx, q.ID)
		if err != nil {
			return func() tea.Cmd { return m.edited(q.ID, nil, nil, err) }
		}
		e := &editorCommand{command: chat.Editor, name: path.Base(q.Path), before: before, in: chat.In, out: chat.Out}
		return func() tea.Cmd {
			return tea.Exec(e, func(err error) tea.Msg {
				return then(func() tea.Cmd { return m.edited(q.ID, e.before, e.after, err) })
			})
		}
	})
}

// edited processes the result of the editor: the text before and after.
func (m *chat) edited(id string, before, after []byte, err error) tea.Cmd {
	if m.deciding == nil || m.deciding.q.ID != id {
		return nil // it was answered elsewhere meanwhile
	}
	m.waitForQuiet() // keys that were typed in the editor must not answer the question
	return m.follow(m.deciding.edited(before, after, err))
}

// editorCommand runs an editor on the text of a question. The editor has the terminal while it runs.
type editorCommand struct {
	command, name string
	before, after []byte
	in            io.Reader
	out           io.Writer
}

// SetStdin, SetStdout and SetStderr implement tea.ExecCommand. They do nothing: the editor gets the chat's own files.
func (e *editorCommand) SetStdin(io.Reader)  {}
func (e *editorCommand) SetStdout(io.Writer) {}
func (e *editorCommand) SetStderr(io.Writer) {}

// Run implements tea.ExecCommand.
func (e *editorCommand) Run() (err error) {
	e.after, err = runEditor(e.command, e.name, e.before, e.in, e.out)
	return err
}
