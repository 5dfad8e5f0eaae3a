package terminal

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/stet-dev/stet/files/approval"
)

const (
	// quietTime is the time without keys after which a question accepts a key. A key that is held down, or was meant for
	// the previous question, must not answer it.
	quietTime = 300 * time.Millisecond

	// keyGap is the time without other keys after which a key is an answer. Keys that come closer to each other are a paste
	// from a terminal that does not mark pastes.
	keyGap = 25 * time.Millisecond
)

// questions are the open questions, in the order in which the person is asked.
type questions []approval.Question

// find returns the index of a question, or -1.
func (qs questions) find(id string) int {
	return slices.IndexFunc(qs, func(q approval.Question) bool { return q.ID == id })
}

func (qs *questions) remove(id string) {
	*qs = slices.DeleteFunc(*qs, func(q approval.Question) bool { return q.ID == id })
}

// rotate moves the first question to the end.
func (qs *questions) rotate() { *qs = append((*qs)[1:], (*qs)[0]) }

// takeEvents processes what the source of the questions has sent.
func (m *chat) takeEvents() tea.Cmd {
	if m.width == 0 || m.inbox == nil {
		return nil
	}
	events, said, err := m.inbox.take()
	for _, line := range said {
		m.note(note{text: line})
	}
	for _, e := range events {
		m.question(e)
	}
	switch {
	case err == nil || m.failed != nil:
	case m.Talk == nil:
		m.failed, m.quitting = err, true
	default:
		m.failed = err
		m.note(note{wrong: true, text: "questions can no longer be answered here: " + err.Error()})
	}
	return nil
}

// free reports whether a question can be shown without disturbing the person. Otherwise they open it with Tab.
func (m *chat) free() bool {
	return m.deciding == nil && m.closedWhileTyping == "" && m.list == nil && m.input.Value() == "" && m.covering == ""
}

// finished reports whether there were questions, and none is open.
func (m *chat) finished() bool {
	return m.opened && len(m.asked) == 0 && m.closedWhileTyping == "" && !m.answering
}

// writes reports whether what the person types goes to the input.
func (m *chat) writes() bool {
	return m.Talk != nil || m.list != nil || m.deciding != nil && !m.deciding.byKey()
}

// question processes an event of the questions.
func (m *chat) question(e approval.Event) {
	switch {
	case e.Opened != nil:
		m.opened = true
		m.asked = append(m.asked, *e.Opened)
		if m.free() {
			m.decide()
			m.unprompted = true
		}
	case e.Closed != nil:
		m.questionClosed(*e.Closed)
	}
}

// questionClosed processes the closing of a question, here or elsewhere.
func (m *chat) questionClosed(c approval.Closing) {
	i := m.asked.find(c.ID)
	if i < 0 { // it was answered here
		if m.covering == c.ID && c.ID != "" {
			m.isCovered()
		}
		return
	}
	subject := calledOn(m.asked[i])
	m.asked.remove(c.ID)
	if m.covering != "" {
		m.covered++
	}
	if m.deciding == nil || m.deciding.q.ID != c.ID {
		return
	}
	m.deciding = nil
	m.note(note{text: "no longer open: " + subject + ": " + c.String()})
	if m.input.Value() != "" || m.Talk == nil {
		m.closedWhileTyping = c.String() // what was typed must not answer the next question
		return
	}
	m.leaveQuestion(true)
}

// isCovered ends the wait for the questions that an answer also covers. Their closings come before the one of the question that
// was answered.
func (m *chat) isCovered() {
	if m.covered > 0 {
		m.note(note{text: fmt.Sprintf("and with it %d more", m.covered)})
	}
	m.covering, m.covered = "", 0
	if !m.answering {
		m.decideNext()
	}
}

// decide shows the first question.
func (m *chat) decide() {
	m.draft = m.input.Value()
	m.input.Reset()
	m.deciding = &decision{q: m.asked[0], editor: m.Editor != "", open: func() int { return len(m.asked) }}
	m.unprompted = false
	m.waitForQuiet()
	m.showQuestion(100)
}

// waitForQuiet makes the question accept keys only after no key was pressed for quietTime. A key that is held down, or was
// meant for something else, must not answer it.
func (m *chat) waitForQuiet() {
	m.ready, m.held = false, nil
	m.afterWait(quietTime, func() tea.Cmd {
		m.ready = true
		return nil
	})
}

// afterWait calls f after a time, if no other wait has begun meanwhile.
func (m *chat) afterWait(d time.Duration, f func() tea.Cmd) {
	m.waited++
	number := m.waited
	m.later = tea.Batch(m.later, tea.Tick(d, func(time.Time) tea.Msg {
		return then(func() tea.Cmd {
			if number != m.waited {
				return nil
			}
			return f()
		})
	}))
}

// press processes a key that is an answer, if no other key comes with it.
func (m *chat) press(k tea.KeyPressMsg) {
	if m.held != nil {
		m.hint = "several keys came at once: a paste is no answer; press one key"
		m.unprompted = false
		m.waitForQuiet()
		return
	}
	m.held = &k
	m.afterWait(keyGap, m.release)
}

// release takes the key that was pressed as an answer.
func (m *chat) release() tea.Cmd {
	k := m.held
	m.held = nil
	switch {
	case k == nil || m.deciding == nil || !m.deciding.byKey():
		return nil
	case k.Text != "":
		return m.follow(m.deciding.typed(k.Text))
	case k.String() == "esc" || k.String() == "alt+esc":
		return m.follow(m.deciding.escaped())
	}
	return nil
}

// earlyKey processes a key that is pressed before the question accepts keys. If the person was beginning to write when the
// question appeared, the key goes to the input, and the question is put aside.
func (m *chat) earlyKey(k tea.KeyPressMsg) tea.Cmd {
	if m.unprompted && k.Text != "" && m.Talk != nil {
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
	if m.Talk != nil {
		q.Client, q.Session = "", "" // the person knows who asks
	}
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

// promptText is what the person is asked for.
func (m *chat) promptText() string {
	if m.deciding == nil {
		return "Enter goes on"
	}
	return m.deciding.prompt()
}

// questionPrompt returns the prompt of the next key or line.
func (m *chat) questionPrompt() []string {
	text := m.promptText()
	if m.early() {
		text = "…"
	}
	out := []string{""}
	for _, line := range fold(m.words("", text), m.columns()) {
		out = append(out, m.paint(bold, line))
	}
	return out
}

// early reports whether the question does not accept keys yet.
func (m *chat) early() bool {
	return m.deciding != nil && !m.ready && (m.deciding.byKey() || m.deciding.stage == confirming)
}

// answerLine processes a line that was typed while a question was shown.
func (m *chat) answerLine(line string) tea.Cmd {
	if m.deciding == nil {
		m.leaveQuestion(true)
		return nil
	}
	return m.follow(m.deciding.typed(line))
}

// questionKey processes a key while a question is shown.
func (m *chat) questionKey(k tea.KeyPressMsg) tea.Cmd {
	switch {
	case m.early():
		return m.earlyKey(k)
	case m.deciding != nil && m.deciding.byKey():
		m.press(k)
		return nil
	}
	switch k.String() {
	case "enter":
		line := m.input.Value()
		m.input.Reset()
		return m.answerLine(line)
	case "esc", "alt+esc":
		typed := m.input.Value() != ""
		m.input.Reset()
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
	return m.edit(k)
}

// follow performs the next step of a decision.
func (m *chat) follow(next step) tea.Cmd {
	if m.deciding.stage == confirming { // the rest of a paste must not confirm anything
		m.waitForQuiet()
		m.unprompted = false
	}
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
	case next.leave == forGood:
		return m.quit()
	case next.leave == forList:
		m.listQuestions()
	case next.leave == forNext:
		m.asked.rotate()
		m.leaveQuestion(len(m.asked) > 1 || m.Talk == nil)
	}
	return nil
}

// listQuestions lists the open questions.
func (m *chat) listQuestions() {
	p := &picker{title: "Decide on which first?"}
	for _, q := range m.asked {
		c := choice{text: q.Title(), id: q.ID}
		if m.Talk == nil {
			c.note = "of " + cmp.Or(q.Client, q.Session)
		}
		p.all = append(p.all, c)
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
	if showNext && len(m.asked) > 0 && m.covering == "" {
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
	m.deciding, m.answering = nil, true
	if a.Verdict == approval.ForSession || a.Verdict == approval.ForPattern {
		m.covering = q.ID
	}
	src, ctx := m.Questions, m.ctx
	return m.start(func() then {
		err := src.Answer(ctx, q.ID, a)
		return func() tea.Cmd { return m.answered(q, a, err) }
	})
}

// answered shows whether an answer was accepted.
func (m *chat) answered(q approval.Question, a approval.Answer, err error) tea.Cmd {
	m.answering = false
	if err != nil {
		m.covering, m.covered = "", 0
	}
	switch {
	case err == nil:
		m.answeredAny = true
		m.note(note{text: approval.Closing{How: string(a.Verdict)}.String() + ": " + calledOn(q)})
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
	q, chat, src, ctx, exec := m.deciding.q, m.Chat, m.Questions, m.ctx, m.exec
	return m.start(func() then {
		before, err := src.Content(ctx, q.ID)
		if err != nil {
			return func() tea.Cmd { return m.edited(q.ID, nil, nil, err) }
		}
		e := &editorCommand{command: chat.Editor, name: path.Base(q.Path), before: before, in: chat.In, out: chat.Out}
		return func() tea.Cmd {
			return exec(e, func(err error) then {
				return func() tea.Cmd { return m.edited(q.ID, e.before, e.after, err) }
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
