package tui

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/stet-dev/stet/session"
)

// picker is a list that one thing is chosen from.
type picker struct {
	title  string
	all    []choice
	found  []choice // those that match what is typed
	at     int
	chosen func(choice) tea.Cmd
}

// choice is a line of a picker.
type choice struct {
	text string
	note string // dim, behind the text
	id   string
	to   uint64
	time time.Time
	said string
}

// narrow leaves those choices that hold all the words.
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

func (p *picker) view(k ink, columns, most int) []string {
	out := []string{"", clip(k.paint(bold, p.title), columns)}
	most = min(max(most-2, 1), 10)
	first := max(0, min(p.at-most/2, len(p.found)-most))
	for i := first; i < min(first+most, len(p.found)); i++ {
		mark, style := "  ", ""
		if i == p.at {
			mark, style = k.paint(cyan, "❯ "), bold
		}
		line := mark + k.words(style, p.found[i].text)
		if p.found[i].note != "" {
			line += k.words(dim, "  "+p.found[i].note)
		}
		out = append(out, clip(line, columns))
	}
	if len(p.found) == 0 {
		out = append(out, k.paint(dim, "  nothing matches"))
	}
	return out
}

// open shows a list; what is typed narrows it.
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
	if len(m.asked) > 0 && m.input.Value() == "" {
		m.decide()
	}
}

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
		m.closeList()
	case "enter":
		if len(m.list.found) == 0 {
			return nil
		}
		chosen, c := m.list.chosen, m.list.found[m.list.at]
		m.closeList()
		return chosen(c)
	case "shift+enter", "alt+enter", "ctrl+j":
	default:
		return m.edit(k)
	}
	return nil
}

// sessions is what can be gone on with.
type sessions struct {
	all []session.Info
	err error
}

// resumed is the session that is gone on with.
type resumed struct {
	talk Talk
	err  error
}

func (m *chat) listSessions() tea.Cmd {
	if m.Sessions == nil || m.Resume == nil {
		m.note(noted{"no sessions are stored here", true})
		return nil
	}
	list, ctx := m.Sessions, m.ctx
	return m.start(func() tea.Msg {
		all, err := list(ctx)
		return sessions{all, err}
	})
}

func (m *chat) choose(s sessions) {
	if s.err != nil {
		m.note(noted{s.err.Error(), true})
		return
	}
	p := &picker{title: "Go on with which session?", chosen: func(c choice) tea.Cmd { return m.resumeCmd(c.id) }}
	for _, i := range s.all {
		if i.ID == m.Talk.ID() {
			continue
		}
		text := i.Title
		if text == "" {
			text = i.First
		}
		if text == "" {
			text = "(nothing said)"
		}
		note := fmt.Sprintf("%s · %s", i.Updated.Local().Format("2006-01-02 15:04"), plural(i.Count, "message"))
		p.all = append(p.all, choice{text: short(text, 100), note: note, id: i.ID})
	}
	if len(p.all) == 0 {
		m.note(noted{text: "there is no other session"})
		return
	}
	m.open(p)
}

func (m *chat) resumeCmd(id string) tea.Cmd {
	if m.busy() {
		return nil
	}
	resume, ctx := m.Resume, m.ctx
	return m.start(func() tea.Msg {
		t, err := resume(ctx, id)
		return resumed{t, err}
	})
}

func (m *chat) resume(r resumed) {
	if r.err != nil {
		m.note(noted{r.err.Error(), true})
		return
	}
	m.Talk = r.talk
	m.said = recall{}
	m.said.take(m.Talk)
	m.fill = m.Talk.Fill()
	m.note(noted{text: "session " + m.Talk.ID()})
	m.replay()
}

// busy reports whether something is at work, and says so.
func (m *chat) busy() bool {
	if m.turn != nil {
		m.note(noted{"not while the agent works; Ctrl-C interrupts it", true})
	}
	return m.turn != nil
}

// rewound is that the conversation was gone back in.
type rewound struct {
	said string // the message that it stands before
	note string
	err  error
}

// listMessages lists what the person said, the newest first.
func (m *chat) listMessages() tea.Cmd {
	if m.busy() {
		return nil
	}
	p := &picker{title: "Go back to before which message?", chosen: m.rewindTo}
	st := m.Talk.State()
	for i := len(st.Messages) - 1; i >= 0; i-- {
		if text := saidIn(st.Messages[i]); text != "" && st.Marks[i] > 1 {
			p.all = append(p.all, choice{text: short(text, 200), to: st.Marks[i] - 1, time: st.Messages[i].Time, said: text})
		}
	}
	if len(p.all) == 0 {
		m.note(noted{text: "nothing was said yet"})
		return nil
	}
	m.open(p)
	return nil
}

// rewindTo asks about the files and goes back.
func (m *chat) rewindTo(c choice) tea.Cmd {
	if m.Undo == nil {
		return m.rewindCmd(c, false)
	}
	m.open(&picker{
		title: "And the files?",
		all: []choice{
			{text: "the conversation alone", note: "files stay as they are"},
			{text: "files too", note: "what was written since then is undone; you see it first", id: "files"},
		},
		chosen: func(how choice) tea.Cmd { return m.rewindCmd(c, how.id == "files") },
	})
	m.draft = ""
	return nil
}

func (m *chat) rewindCmd(c choice, files bool) tea.Cmd {
	talk, undo, ctx := m.Talk, m.Undo, m.ctx
	return m.start(func() tea.Msg {
		note := ""
		if files {
			var err error
			if note, err = undo(ctx, talk, c.time); err != nil {
				return rewound{err: fmt.Errorf("files: %w", err)}
			}
		}
		return rewound{c.said, note, talk.Rewind(context.WithoutCancel(ctx), c.to)}
	})
}

func (m *chat) rewind(r rewound) {
	if r.err != nil {
		m.note(noted{"not gone back: " + r.err.Error(), true})
		return
	}
	if r.note != "" {
		m.note(noted{text: r.note})
	}
	m.fill = m.Talk.Fill()
	m.note(noted{text: "back to before: " + short(r.said, 200)})
	m.replay()
	if m.input.Value() == "" {
		m.setInput(r.said)
	}
}
