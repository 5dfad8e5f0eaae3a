package terminal

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/stet-dev/stet/session"
)

// picker is a list from which the person chooses.
type picker struct {
	title  string
	all    []choice
	found  []choice // the choices that match the text in the input
	at     int
	chosen func(choice) tea.Cmd
	left   func() // called if the person leaves without a choice; nil: nothing to do
}

// choice is a line of a picker: a session, or a message to rewind to.
type choice struct {
	text string
	note string // printed dim, after the text
	id   string // of the session

	to   uint64    // the event to rewind to
	time time.Time // of the message
	said string    // the message
}

// narrow sets found to the choices that contain all the words.
func (p *picker) narrow(words string) {
	p.found = nil
	for _, c := range p.all {
		text := session.Folded(c.text + " " + c.note + " " + c.id)
		match := true
		for _, w := range strings.Fields(session.Folded(words)) {
			match = match && strings.Contains(text, w)
		}
		if match {
			p.found = append(p.found, c)
		}
	}
	p.at = max(0, min(p.at, len(p.found)-1))
}

func (p *picker) step(by int) { p.at = max(0, min(p.at+by, len(p.found)-1)) }

func (p *picker) view(pt painter, columns, most int) []string {
	out := []string{"", clip(pt.paint(bold, p.title), columns)}
	most = min(max(most-2, 1), 10)
	first := max(0, min(p.at-most/2, len(p.found)-most))
	for i := first; i < min(first+most, len(p.found)); i++ {
		mark, style := "  ", ""
		if i == p.at {
			mark, style = pt.paint(cyan, "❯ "), bold
		}
		line := mark + pt.words(style, p.found[i].text)
		if p.found[i].note != "" {
			line += pt.words(dim, "  "+p.found[i].note)
		}
		out = append(out, clip(line, columns))
	}
	if len(p.found) == 0 {
		out = append(out, pt.paint(dim, "  nothing matches"))
	}
	return out
}

// open shows a list. The text in the input filters it.
func (m *chat) open(p *picker) {
	m.draft = m.input.Value()
	m.input.Reset()
	p.narrow("")
	m.list = p
	m.hint = "↑↓ choose · type to search · Enter takes it · Esc leaves"
}

func (m *chat) closeList() {
	m.list = nil
	m.setInput(m.draft)
	m.draft = ""
}

// leaveList closes the list without a choice.
func (m *chat) leaveList() {
	left := m.list.left
	m.closeList()
	if left != nil {
		left()
	}
	m.decideNext()
}

// decideNext shows the next question, if the person is not busy with something else.
func (m *chat) decideNext() {
	if len(m.asked) > 0 && m.free() {
		m.decide()
	}
}

// filter updates the list after a change of the input.
func (m *chat) filter() {
	if m.list != nil {
		m.list.narrow(m.input.Value())
	}
}

func (m *chat) listKey(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "up", "ctrl+p":
		m.list.step(-1)
	case "down", "ctrl+n":
		m.list.step(1)
	case "pgup":
		m.list.step(-10)
	case "pgdown":
		m.list.step(10)
	case "esc", "alt+esc":
		m.leaveList()
	case "enter":
		if len(m.list.found) == 0 {
			return nil
		}
		return m.choose(m.list.found[m.list.at])
	case "shift+enter", "alt+enter", "ctrl+j":
	default:
		return m.edit(k)
	}
	return nil
}

// choose closes the list with a choice.
func (m *chat) choose(c choice) tea.Cmd {
	chosen := m.list.chosen
	m.closeList()
	cmd := chosen(c)
	m.decideNext()
	return cmd
}

func (m *chat) listSessions() tea.Cmd {
	if m.Sessions == nil || m.Resume == nil {
		m.note(note{"no sessions are stored here", true})
		return nil
	}
	list, ctx := m.Sessions, m.ctx
	return m.start(func() then {
		all, err := list(ctx)
		return func() tea.Cmd { return m.chooseSession(all, err) }
	})
}

func (m *chat) chooseSession(all []session.Info, err error) tea.Cmd {
	if err != nil {
		m.note(note{err.Error(), true})
		return nil
	}
	p := &picker{title: "Go on with which session?", chosen: func(c choice) tea.Cmd { return m.resumeByID(c.id) }}
	for _, i := range all {
		if i.ID == m.Talk.ID() {
			continue
		}
		about := fmt.Sprintf("%s · %s", i.Updated.Local().Format("2006-01-02 15:04"), plural(i.Count, "message"))
		text := cmp.Or(i.Title, i.First, "(nothing said)")
		p.all = append(p.all, choice{text: short(text, 100), note: about, id: i.ID})
	}
	if len(p.all) == 0 {
		m.note(note{text: "there is no other session"})
		return nil
	}
	m.open(p)
	return nil
}

func (m *chat) resumeByID(id string) tea.Cmd {
	if m.busy() {
		return nil
	}
	resume, ctx := m.Resume, m.ctx
	return m.start(func() then {
		t, err := resume(ctx, id)
		return func() tea.Cmd { return m.resumed(t, err) }
	})
}

func (m *chat) resumed(t Talk, err error) tea.Cmd {
	if err != nil {
		m.note(note{err.Error(), true})
		return nil
	}
	m.Talk = t
	m.said = inputHistory{}
	m.said.load(m.Talk)
	m.fill = m.Talk.Fill()
	m.note(note{text: "session " + m.Talk.ID()})
	m.replay()
	return nil
}

// busy reports whether the agent is working. If so, it also prints a note.
func (m *chat) busy() bool {
	if m.turn != nil {
		m.note(note{"not while the agent works; Ctrl-C interrupts it", true})
	}
	return m.turn != nil
}

// listMessages lists the person's messages, the newest first.
func (m *chat) listMessages() tea.Cmd {
	if m.busy() {
		return nil
	}
	p := &picker{title: "Go back to before which message?", chosen: m.rewindTo}
	st := m.Talk.State()
	for i := len(st.Messages) - 1; i >= 0; i-- {
		if text := personText(st.Messages[i]); text != "" && st.Marks[i] > 1 {
			p.all = append(p.all, choice{text: short(text, 200), to: st.Marks[i] - 1, time: st.Messages[i].Time, said: text})
		}
	}
	if len(p.all) == 0 {
		m.note(note{text: "nothing was said yet"})
		return nil
	}
	m.open(p)
	return nil
}

// rewindTo asks whether to undo the writes to files, too, and rewinds.
func (m *chat) rewindTo(c choice) tea.Cmd {
	if m.Undo == nil {
		return m.rewind(c, false)
	}
	m.open(&picker{
		title: "And the files?",
		all: []choice{
			{text: "the conversation alone", note: "files stay as they are"},
			{text: "files too", note: "what was written since then is undone; you see it first", id: "files"},
		},
		chosen: func(how choice) tea.Cmd { return m.rewind(c, how.id == "files") },
	})
	m.draft = ""
	return nil
}

func (m *chat) rewind(c choice, files bool) tea.Cmd {
	talk, undo, ctx := m.Talk, m.Undo, m.ctx
	return m.start(func() then {
		undone, err := "", error(nil)
		if files {
			if undone, err = undo(ctx, talk, c.time); err != nil {
				err = fmt.Errorf("files: %w", err)
			}
		}
		if err == nil {
			err = talk.Rewind(context.WithoutCancel(ctx), c.to)
		}
		return func() tea.Cmd { return m.rewound(c.said, undone, err) }
	})
}

// rewound shows the conversation as it was before the message said. undone describes what was undone.
func (m *chat) rewound(said, undone string, err error) tea.Cmd {
	if err != nil {
		m.note(note{"not gone back: " + err.Error(), true})
		return nil
	}
	if undone != "" {
		m.note(note{text: undone})
	}
	m.fill = m.Talk.Fill()
	m.note(note{text: "back to before: " + short(said, 200)})
	m.replay()
	if m.input.Value() == "" {
		m.setInput(said)
	}
	return nil
}
