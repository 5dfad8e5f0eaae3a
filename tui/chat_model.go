package tui

import (
	"context"
	"errors"
	"strings"
	"time"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/approval"
	"github.com/stet-dev/stet/llm"
)

// chat is the state of a Chat on a terminal. It is changed by Update alone.
type chat struct {
	*Chat
	ink
	ctx   context.Context
	start func(func() tea.Msg) tea.Cmd // does something beside Update; Chat.Run waits for it
	send  func(tea.Msg)                // from beside Update

	width, height int
	resized       int  // how often, since the screen was drawn anew; 0: it is as it should be
	settled       bool // the size has not changed for a moment
	input         textarea.Model
	hint          string // below the input, until the next key
	again         string // the key that does something if it is pressed once more
	said          recall
	queue         []string // said while the agent worked

	printer printer
	last    block // kind of what was printed last
	prose   prose
	answer  stream
	calls   []running
	turn    *turn      // nil: nothing is at work
	fill    agent.Fill // as of the last request

	asked    []approval.Question
	deciding *decision // about asked[0]; nil: it is not before the person yet
	gone     string    // what became of the question that the line typed is about
	draft    string    // what stood in the input before the question

	list *picker // nil: nothing is chosen from
	full *unfolded
	bye  bool

	interrupted bool // it was Ctrl-C that ended it
}

// turn is work under way.
type turn struct {
	what    string // "working", "compacting"
	since   time.Time
	cancel  context.CancelFunc
	stopped bool // by the person
	frame   int  // of the spinner
}

// What comes in beside keys.
type (
	happened struct{ agent.Event }
	ended    struct {
		outcome agent.Outcome
		err     error
	}
	noted struct {
		text  string
		wrong bool
	}
	ticked struct{}
	rested struct{ resized int } // the size has not changed for a moment, if it is still that
)

func newChat(ctx context.Context, c *Chat) *chat {
	m := &chat{Chat: c, ink: ink{c.getenv("NO_COLOR") == ""}, ctx: ctx}
	m.prose.ink = m.ink
	m.start = func(f func() tea.Msg) tea.Cmd { return f }
	m.send = func(tea.Msg) {}
	m.input = newInput()
	m.said.take(c.Talk)
	return m
}

// Init implements tea.Model.
func (m *chat) Init() tea.Cmd {
	cmds := []tea.Cmd{m.input.Focus()}
	if m.Choose {
		cmds = append(cmds, m.listSessions())
	}
	return tea.Batch(cmds...)
}

// greet shows what there is already.
func (m *chat) greet() {
	m.fill = m.Talk.Fill()
	if len(m.Talk.State().Messages) > 0 {
		m.replay()
		return
	}
	m.print(blockNote, folded(m.paint(bold, "stet")+m.paint(dim, " · /help says what can be done here")))
}

// Update implements tea.Model.
func (m *chat) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	if _, ok := msg.(printed); ok {
		m.printer.under = false
	} else if !m.bye {
		cmd = m.update(msg)
	}
	switch {
	case m.bye && m.printer.idle():
		return m, tea.Quit
	case m.full != nil: // what is finished waits till the screen is back
		return m, cmd
	case m.settled && m.printer.idle():
		m.resized, m.settled = 0, false
		lines, _ := m.screen()
		return m, tea.Batch(cmd, m.printer.again(m.columns(), m.height, len(lines)))
	}
	return m, tea.Batch(cmd, m.printer.next(m.reserve()))
}

func (m *chat) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		first := m.width == 0
		m.width, m.height = max(msg.Width, 1), max(msg.Height, 1)
		m.input.SetWidth(m.columns())
		m.input.MaxHeight = max(1, min(10, m.height/3))
		if m.full != nil {
			m.full.resize(m.width, m.height)
		}
		if first {
			m.greet()
			return m.printer.wait()
		}
		return m.rest()
	case tea.CursorPositionMsg:
		m.printer.waited(waited(m.printer.waits))
	case waited:
		m.printer.waited(msg)
	case rested:
		m.settled = msg.resized == m.resized
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		return m.paste(msg.Content)
	case ticked:
		return m.tick()
	case happened:
		m.happen(msg.Event)
	case ended:
		return m.end(msg)
	case noted:
		m.note(msg)
	case approval.Event:
		m.question(msg)
	case edited:
		if m.deciding != nil && m.deciding.q.ID == msg.id { // else it was answered elsewhere meanwhile
			return m.move(m.deciding.edited(msg.before, msg.after, msg.err))
		}
	case answeredHere:
		return m.closed(msg)
	case sessions:
		m.choose(msg)
	case resumed:
		m.resume(msg)
	case rewound:
		m.rewind(msg)
	}
	return nil
}

// resting is how long a terminal's size has to stay the same to be drawn for.
// What is drawn meanwhile may leave something behind, since no program knows
// where a terminal puts lines that do not fit any more.
const resting = 100 * time.Millisecond

// rest has the screen drawn anew in a moment.
func (m *chat) rest() tea.Cmd {
	m.resized++
	m.settled = false
	now := rested{m.resized}
	return tea.Tick(resting, func(time.Time) tea.Msg { return now })
}

// columns is how wide lines may be: where the last column is written to,
// terminals do not agree where the cursor is.
func (m *chat) columns() int { return max(m.width-1, 1) }

// say sends a message to the agent, or keeps it till that is done.
func (m *chat) say(text string) tea.Cmd {
	if m.turn != nil {
		m.queue = append(m.queue, text)
		return nil
	}
	m.printUser(text)
	return m.run([]llm.Part{{Kind: llm.Text, Text: text}})
}

// run lets the agent work.
func (m *chat) run(said []llm.Part) tea.Cmd {
	talk := m.Talk
	return m.work("working", func(ctx context.Context, tell func(agent.Event)) ended {
		out, err := talk.Run(ctx, said, tell)
		return ended{out, err}
	})
}

// work does something that can be interrupted, beside Update.
func (m *chat) work(what string, f func(context.Context, func(agent.Event)) ended) tea.Cmd {
	ctx, cancel := context.WithCancel(m.ctx)
	m.turn = &turn{what: what, since: time.Now(), cancel: cancel}
	return tea.Batch(m.spin(), m.start(func() tea.Msg {
		return f(ctx, func(e agent.Event) { m.send(happened{e}) })
	}))
}

// end is that the work has ended.
func (m *chat) end(e ended) tea.Cmd {
	stopped := m.turn.stopped
	m.turn.cancel()
	m.turn, m.calls = nil, nil
	m.finish()
	m.fill = m.Talk.Fill()
	switch {
	case stopped && errors.Is(e.err, context.Canceled):
		m.note(noted{text: "interrupted; /continue goes on"})
	case e.err != nil:
		m.note(noted{"stopped: " + e.err.Error() + "; /continue tries again", true})
	case e.outcome.End != agent.Done:
		m.note(noted{endWords(e.outcome.End), true})
	}
	switch {
	case len(m.queue) == 0:
		return nil
	case e.err != nil: // the person decides again what is sent
		m.setInput(strings.Join(append(m.queue, m.input.Value()), "\n"))
		m.queue = nil
		return nil
	}
	next := m.queue[0]
	m.queue = m.queue[1:]
	return m.say(next)
}

// endWords say why an agent stopped that was not done.
func endWords(e agent.End) string {
	switch e {
	case agent.Refused:
		return "the model refused to go on"
	case agent.Turns:
		return "stopped after as many requests as one prompt may have; /continue goes on"
	case agent.Looping:
		return "stopped: the same calls came to the same results again and again"
	case agent.CutOff:
		return "stopped: the answers were cut off, or empty, several times in a row; /continue tries again"
	}
	return "stopped: " + string(e)
}

// interrupt ends the work, if there is any.
func (m *chat) interrupt() {
	if m.turn != nil && !m.turn.stopped {
		m.turn.stopped = true
		m.turn.cancel()
	}
}

func (m *chat) spin() tea.Cmd {
	return tea.Tick(120*time.Millisecond, func(time.Time) tea.Msg { return ticked{} })
}

func (m *chat) tick() tea.Cmd {
	if m.turn == nil {
		return nil
	}
	m.turn.frame++
	return m.spin()
}
