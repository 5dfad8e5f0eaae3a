package terminal

import (
	"context"
	"errors"
	"strings"
	"time"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
)

// chat is the state of a Chat on a terminal. Only Update changes it.
type chat struct {
	*Chat
	painter
	ctx   context.Context
	start func(func() then) tea.Cmd // calls a function outside Update; Chat.Run waits for it
	send  func(tea.Msg)             // sends a message to Update from outside

	// exec runs an editor, which has the terminal meanwhile, and then calls what done returns.
	exec func(e *editorCommand, done func(error) then) tea.Cmd

	width, height int
	resized       int  // how often the size changed since the screen was drawn
	settled       bool // the size has not changed for settleTime
	input         textarea.Model
	hint          string // text below the input, until the next key
	again         string // the key that has an effect if it is pressed again
	said          inputHistory
	queue         []string // messages that the person sent while the agent worked

	printer printer
	last    block // kind of the last printed text
	prose   prose
	answer  partialAnswer
	calls   []llm.Part
	turn    *turn      // nil: the agent does not work
	fill    agent.Fill // at the last request

	inbox    *inbox // of the questions; nil: none are asked here
	passing  bool   // without a Talk: the chat ends when no question is open
	waits    bool   // without a Talk: the chat says that it waits for questions
	failed   error  // without a Talk: the source of the questions has ended
	left     bool   // the person has quit
	asked    questions
	deciding *decision // about asked[0]; nil: no question is shown
	draft    string    // the text in the input before the question or the list was shown

	ready      bool             // keys are accepted as answers: no key was pressed for quietTime
	unprompted bool             // the question appeared by itself, and not by Tab or after an answer
	held       *tea.KeyPressMsg // it is an answer if no other one comes within keyGap; nil: none is held
	waited     int              // number of waits for quietTime and keyGap so far
	later      tea.Cmd          // commands to run after this update

	opened      bool   // there was a question
	answering   bool   // an answer is being sent
	answeredAny bool   // an answer was accepted
	covering    string // the question whose answer may cover others: no other one is shown before it is closed; "": none is
	covered     int    // number of questions that were closed meanwhile

	closedWhileTyping string // how the question was closed while its answer was being typed; "": none was

	list     *picker // nil: there is no list
	full     *pager  // nil: the chat is on the screen
	quitting bool    // the chat is ending

	interrupted bool // Ctrl-C ended it
}

// turn is a running task of the agent.
type turn struct {
	what    string // "working", "compacting"
	since   time.Time
	cancel  context.CancelFunc
	stopped bool // the person has interrupted it
	frame   int  // of the spinner
}

// The messages of this package to Update.
type (
	// then is the result of work outside Update. Update calls it.
	then func() tea.Cmd

	agentEvent struct{ agent.Event }

	// note is a line for the person that is not part of the conversation.
	note struct {
		text  string
		wrong bool
	}
)

func newChat(ctx context.Context, c *Chat) *chat {
	m := &chat{Chat: c, painter: painter{c.getenv("NO_COLOR") == ""}, ctx: ctx}
	m.prose.painter = m.painter
	m.start = func(f func() then) tea.Cmd { return func() tea.Msg { return f() } }
	m.send = func(tea.Msg) {}
	m.exec = func(e *editorCommand, done func(error) then) tea.Cmd {
		return tea.Exec(e, func(err error) tea.Msg { return done(err) })
	}
	m.input = newInput()
	if c.Talk != nil {
		m.said.load(c.Talk)
	}
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

// greet shows the conversation, or a greeting if it is empty.
func (m *chat) greet() {
	if m.Talk == nil {
		return
	}
	m.fill = m.Talk.Fill()
	if len(m.Talk.State().Messages) > 0 {
		m.replay()
		return
	}
	about := " · "
	if m.Tools != "" {
		about += m.Tools + "\n"
	}
	m.print(blockNote, folded(m.paint(bold, "stet")+m.paint(dim, about+"/help lists commands and keys")))
}

// Update implements tea.Model.
func (m *chat) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	if _, ok := msg.(printed); ok {
		m.printer.printing = false
	} else if !m.quitting {
		cmd = m.update(msg)
		cmd, m.later = tea.Batch(cmd, m.later), nil
		m.quitting = m.quitting || m.passing && m.finished()
	}
	switch {
	case m.quitting && (m.printer.idle() || m.printer.waiting): // a terminal that does not answer; the rest is written at the end
		return m, tea.Quit
	case m.full != nil: // finished lines wait until the pager is closed
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
			m.takeEvents()
			return m.printer.wait()
		}
		return m.redrawLater()
	case tea.CursorPositionMsg:
		m.printer.waited(m.printer.waits)
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		return m.paste(msg.Content)
	case agentEvent:
		m.showEvent(msg.Event)
	case note:
		m.note(msg)
	case then:
		return msg()
	}
	return nil
}

// settleTime is how long a terminal's size must stay the same before the screen is drawn again. Drawing during the change may leave
// old lines on the screen: no program knows where a terminal puts lines that no longer fit.
const settleTime = 100 * time.Millisecond

// redrawLater draws the screen again when the size has settled.
func (m *chat) redrawLater() tea.Cmd {
	m.resized++
	m.settled = false
	resized := m.resized
	return tea.Tick(settleTime, func(time.Time) tea.Msg {
		return then(func() tea.Cmd {
			m.settled = resized == m.resized
			return nil
		})
	})
}

// columns returns the largest width of lines. The last column stays free: after a character in it, terminals put the cursor
// at different places.
func (m *chat) columns() int { return max(m.width-1, 1) }

// say sends a message to the agent, or queues it while the agent works.
func (m *chat) say(text string) tea.Cmd {
	if m.turn != nil {
		m.queue = append(m.queue, text)
		return nil
	}
	m.printUser(text)
	return m.run([]llm.Part{{Kind: llm.Text, Text: text}})
}

// run starts the agent.
func (m *chat) run(said []llm.Part) tea.Cmd {
	talk := m.Talk
	return m.work("working", func(ctx context.Context, tell func(agent.Event)) (agent.Outcome, error) {
		return talk.Run(ctx, said, tell)
	})
}

// work calls f outside Update. The person can interrupt it.
func (m *chat) work(what string, f func(context.Context, func(agent.Event)) (agent.Outcome, error)) tea.Cmd {
	ctx, cancel := context.WithCancel(m.ctx)
	m.turn = &turn{what: what, since: time.Now(), cancel: cancel}
	return tea.Batch(m.spin(), m.start(func() then {
		out, err := f(ctx, func(e agent.Event) { m.send(agentEvent{e}) })
		return func() tea.Cmd { return m.end(out, err) }
	}))
}

// end processes the end of the agent's work.
func (m *chat) end(out agent.Outcome, err error) tea.Cmd {
	stopped := m.turn.stopped
	m.turn.cancel()
	m.turn, m.calls = nil, nil
	m.finish()
	m.fill = m.Talk.Fill()
	switch {
	case stopped && errors.Is(err, context.Canceled):
		m.note(note{text: "interrupted; /continue goes on"})
	case err != nil:
		m.note(note{"stopped: " + err.Error() + "; /continue tries again", true})
	case out.End != agent.Done:
		m.note(note{endWords(out.End), true})
	}
	switch {
	case len(m.queue) == 0:
		return nil
	case err != nil: // the person decides what is sent next
		m.setInput(strings.Join(append(m.queue, m.input.Value()), "\n"))
		m.queue = nil
		return nil
	}
	next := m.queue[0]
	m.queue = m.queue[1:]
	return m.say(next)
}

// endWords returns the reason why an agent stopped before it had finished.
func endWords(e agent.End) string {
	switch e {
	case agent.Refused:
		return "the model refused to continue"
	case agent.Turns:
		return "stopped after as many requests as one prompt may have; /continue goes on"
	case agent.Looping:
		return "stopped: the same calls came to the same results again and again"
	case agent.CutOff:
		return "stopped: the answers were cut off, or empty, several times in a row; /continue tries again"
	}
	return "stopped: " + string(e)
}

// interrupt cancels the agent's work, if there is any.
func (m *chat) interrupt() {
	if m.turn != nil && !m.turn.stopped {
		m.turn.stopped = true
		m.turn.cancel()
	}
}

func (m *chat) spin() tea.Cmd {
	return tea.Tick(120*time.Millisecond, func(time.Time) tea.Msg { return then(m.tick) })
}

func (m *chat) tick() tea.Cmd {
	if m.turn == nil {
		return nil
	}
	m.turn.frame++
	return m.spin()
}
