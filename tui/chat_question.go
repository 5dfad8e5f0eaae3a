package tui

import (
	"bytes"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/stet-dev/stet/approval"
)

// answeredHere is that an answer was handed over, or was not.
type answeredHere struct {
	q   approval.Question
	a   approval.Answer
	err error
}

// edited is what an editor left.
type edited struct {
	id            string // of the question
	before, after []byte
	err           error
}

// question takes what happens to the questions.
func (m *chat) question(e approval.Event) {
	switch {
	case e.Opened != nil:
		m.asked = append(m.asked, *e.Opened)
		if m.deciding == nil && m.gone == "" && m.list == nil && m.input.Value() == "" {
			m.decide() // else the person is in the middle of something, and comes by Tab
		}
	case e.Closed != nil:
		m.taken(*e.Closed)
	}
}

// taken is that a question is closed, here or elsewhere.
func (m *chat) taken(c approval.Closing) {
	i := slices.IndexFunc(m.asked, func(q approval.Question) bool { return q.ID == c.ID })
	if i < 0 {
		return // it was answered here
	}
	mine := m.deciding != nil && m.deciding.q.ID == c.ID
	m.asked = slices.Delete(m.asked, i, i+1)
	if !mine {
		return
	}
	m.deciding = nil
	m.note(noted{text: "no longer open: " + c.String()})
	if m.input.Value() != "" {
		m.gone = c.String() // what is typed is no answer to the next one
		return
	}
	m.nextQuestion()
}

// decide puts the first question before the person.
func (m *chat) decide() {
	m.draft = m.input.Value()
	m.input.Reset()
	m.deciding = &decision{q: m.asked[0], editor: m.Editor != ""}
	m.showQuestion(100)
}

// showQuestion prints the question, and at most so many lines of its diff.
func (m *chat) showQuestion(most int) {
	q := m.deciding.q
	q.Client, q.Session = "", "" // the person knows who asks
	var b bytes.Buffer
	d := &Dialog{Out: &b, Color: m.color}
	m.deciding.unseen = d.show(q, most)
	all := strings.Split(strings.ReplaceAll(strings.Trim(b.String(), "\n"), "\t", "    "), "\n")
	m.print(blockQuestion, func(columns int) []string {
		var out []string
		diff := q.Outside() // whose blanks stay
		for _, line := range all {
			diff = diff || strings.HasPrefix(ansi.Strip(line), "--- ")
			if diff {
				out = append(out, chop(line, columns)...)
			} else {
				out = append(out, fold(line, columns)...)
			}
		}
		return out
	})
}

// asking is the prompt for the next line of a decision.
func (m *chat) asking() []string {
	text := "Enter goes on"
	if m.deciding != nil {
		text = m.deciding.prompt()
	}
	out := []string{""}
	for _, line := range fold(m.words("", text), m.columns()) {
		out = append(out, m.paint(bold, line))
	}
	return out
}

// questionKey takes a key while a question is before the person.
func (m *chat) questionKey(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "enter":
		line := m.input.Value()
		m.input.Reset()
		if m.deciding == nil {
			m.goOn()
			return nil
		}
		return m.move(m.deciding.typed(line))
	case "esc", "alt+esc":
		typed := m.input.Value() != ""
		m.input.Reset()
		switch {
		case m.deciding == nil:
			m.goOn()
		case !typed || m.deciding.stage != choosing: // else it takes back what was typed
			return m.move(m.deciding.escaped())
		}
		return nil
	case "shift+enter", "alt+enter", "ctrl+j":
		return nil // an answer is one line
	}
	return m.edit(k)
}

// goOn leaves the question that somebody else answered.
func (m *chat) goOn() {
	m.gone = ""
	m.nextQuestion()
}

// move does what follows from a line.
func (m *chat) move(mv move) tea.Cmd {
	switch {
	case mv.answer.Verdict != "":
		return m.answerWith(mv.answer)
	case mv.edit:
		return m.openEditor()
	case mv.show:
		m.showQuestion(-1)
	case mv.wrong != nil:
		m.note(noted{mv.wrong.Error(), true})
	case mv.say != "":
		m.note(noted{text: mv.say})
	case errors.Is(mv.leave, errQuit):
		return m.quit()
	case errors.Is(mv.leave, errNext):
		m.asked = append(m.asked[1:], m.asked[0])
		m.putAway(len(m.asked) > 1)
	}
	return nil
}

// putAway takes the question off the screen, and shows the next one if it is
// wanted.
func (m *chat) putAway(next bool) {
	m.deciding = nil
	if next && len(m.asked) > 0 {
		draft := m.draft
		m.decide()
		m.draft = draft
		return
	}
	m.setInput(m.draft)
	m.draft = ""
}

func (m *chat) nextQuestion() { m.putAway(true) }

// answerWith hands an answer over.
func (m *chat) answerWith(a approval.Answer) tea.Cmd {
	q := m.deciding.q
	m.asked = slices.DeleteFunc(m.asked, func(other approval.Question) bool { return other.ID == q.ID })
	m.deciding = nil
	src, ctx := m.Questions, m.ctx
	return m.start(func() tea.Msg { return answeredHere{q, a, src.Answer(ctx, q.ID, a)} })
}

// closed says what became of an answer.
func (m *chat) closed(e answeredHere) tea.Cmd {
	switch {
	case e.err == nil:
		m.note(noted{text: approval.Closing{How: string(e.a.Verdict)}.String() + ": " + about(e.q)})
	case errors.Is(e.err, approval.ErrAnswered), errors.Is(e.err, approval.ErrUnknown), errors.Is(e.err, approval.ErrClosed):
		m.note(noted{e.err.Error(), true})
	default:
		m.note(noted{e.err.Error(), true})
		m.asked = append([]approval.Question{e.q}, m.asked...) // it is still open
	}
	if m.deciding == nil && m.gone == "" && m.list == nil {
		m.nextQuestion()
	}
	return nil
}

// editing is an editor on the text of a question. It has the terminal meanwhile.
type editing struct {
	command, name string
	before, after []byte
	in            io.Reader
	out           io.Writer
}

func (e *editing) SetStdin(io.Reader)  {}
func (e *editing) SetStdout(io.Writer) {}
func (e *editing) SetStderr(io.Writer) {}

// Run implements tea.ExecCommand.
func (e *editing) Run() (err error) {
	e.after, err = runEditor(e.command, e.name, e.before, e.in, e.out)
	return err
}

func (m *chat) openEditor() tea.Cmd {
	q, chat, src, ctx := m.deciding.q, m.Chat, m.Questions, m.ctx
	fetch := func() tea.Msg {
		before, err := src.Content(ctx, q.ID)
		if err != nil {
			return edited{id: q.ID, err: err}
		}
		e := &editing{command: chat.Editor, name: path.Base(q.Path), before: before, in: chat.In, out: chat.Out}
		return tea.Exec(e, func(err error) tea.Msg { return edited{q.ID, e.before, e.after, err} })()
	}
	return m.start(fetch)
}
