package terminal

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
)

// Talk is a conversation with an agent: an [agent.Conversation].
type Talk interface {
	ID() string
	State() session.State
	Run(ctx context.Context, said []llm.Part, each func(agent.Event)) (agent.Outcome, error)
	Compact(ctx context.Context, focus string, each func(agent.Event)) error
	Rewind(ctx context.Context, to uint64) error
	Fill() agent.Fill
	Spent() agent.Spent
}

var _ Talk = (*agent.Conversation)(nil)

// Chat is a person's conversation with an agent. On a terminal, finished text is printed above a few lines that change. So
// scrolling, searching and copying in the terminal work, and the text stays when the chat ends or is killed. If In or Out
// is not a terminal, the whole input is one prompt.
type Chat struct {
	In     io.Reader
	Out    io.Writer
	Err    io.Writer // if the chat has no terminal: for everything except the answers
	Env    []string  // in the form of os.Environ; TERM and NO_COLOR are used
	Editor string    // a shell command for Edit, as in $EDITOR; "": Edit is not offered

	Talk   Talk   // the first conversation; nil: the person only answers questions
	Model  string // the model's name, for the person
	Policy string // what the person is asked about, in a few words
	Tools  string // for what the agent has tools, and for what not; one line or more

	// Questions delivers the questions for the person; nil: no questions are asked here.
	Questions Source

	// Sessions lists the sessions that can be resumed, the newest first. Resume resumes one. If one of the two is nil,
	// resuming is not offered.
	Sessions func(ctx context.Context) ([]session.Info, error)
	Resume   func(ctx context.Context, id string) (Talk, error)
	Choose   bool // begin with the list of sessions

	// Undo undoes the conversation's writes to files since a time, after it has asked the person. It returns a description
	// of what it did. nil: undoing is not offered.
	Undo func(ctx context.Context, t Talk, since time.Time) (string, error)
}

// ErrInterrupted is returned by Run if Ctrl-C ended the conversation.
var ErrInterrupted = errors.New("interrupted")

// Run runs the chat until the person quits, ctx ends, or there is an error. It returns ErrInterrupted after Ctrl-C.
func (c *Chat) Run(ctx context.Context) error {
	if !c.moves() {
		return c.runPlain(ctx)
	}
	m := newChat(ctx, c)
	if c.Questions != nil {
		m.inbox = newInbox(c.Questions)
		defer m.inbox.begin(ctx)()
	}
	return m.show(ctx)
}

// show runs the program on the terminal, as Run does.
func (m *chat) show(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	m.ctx = ctx
	var working sync.WaitGroup
	options := []tea.ProgramOption{
		tea.WithInput(m.In), tea.WithOutput(m.Out), tea.WithEnvironment(m.Env), tea.WithoutSignalHandler(),
	}
	if !m.color {
		options = append(options, tea.WithColorProfile(colorprofile.NoTTY))
	}
	p := tea.NewProgram(m, options...)
	m.send = p.Send
	reset := func() { _ = p.ReleaseTerminal() } // the program ends by a panic anyway
	m.start = func(f func() then) tea.Cmd {
		working.Go(func() {
			defer func() { // resets the terminal if f panics in this goroutine
				if r := recover(); r != nil {
					reset()
					panic(r)
				}
			}()
			p.Send(f())
		})
		return nil
	}
	if m.inbox != nil {
		m.inbox.onReset(reset)
		defer m.inbox.onReset(nil)
		working.Go(func() {
			for m.inbox.next(ctx) {
				p.Send(then(m.takeEvents))
			}
		})
	}
	end := context.AfterFunc(ctx, p.Quit)
	_, err := p.Run()
	end()
	cancel()
	working.Wait()
	for _, line := range m.printer.rest() {
		_, _ = io.WriteString(m.Out, line+"\r\n") // if the terminal is closed, the next read fails
	}
	if err == nil && m.interrupted {
		return ErrInterrupted
	}
	return err
}

// moves reports whether In and Out are a terminal whose cursor can be moved, and that has a size.
func (c *Chat) moves() bool {
	if !isTerminal(c.In) || !isTerminal(c.Out) {
		return false
	}
	if width, height, err := term.GetSize(c.Out.(*os.File).Fd()); err != nil || width == 0 || height == 0 {
		return false
	}
	name := c.getenv("TERM")
	return runtime.GOOS == "windows" || name != "" && name != "dumb"
}

func (c *Chat) getenv(name string) string {
	value := ""
	for _, pair := range c.Env {
		if v, ok := strings.CutPrefix(pair, name+"="); ok {
			value = v
		}
	}
	return value
}
