// Package terminal asks people questions on a terminal, and shows the output of an agent. [Chat] is a conversation with an
// agent, and [Dialog] only asks questions. Both are the same program: one way to read keys, and one way to draw. Without a
// terminal whose cursor can be moved, they read lines and print lines.
//
// Text of an agent or of a file is never written to the terminal unchanged: a painter replaces control characters and
// bidirectional characters by escapes.
package terminal

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/stet-dev/stet/files/approval"
)

// Dialog asks a person questions. On a terminal most answers are one key. If In or Out is not a terminal, or its cursor cannot
// be moved, each answer is a line.
type Dialog struct {
	In     io.Reader
	Out    io.Writer
	Env    []string // in the form of os.Environ; TERM and NO_COLOR are used
	Editor string   // a shell command for Edit, as in $EDITOR; "": Edit is not offered

	// Screen is locked while During shows a question. Other code must lock it to write to the terminal. nil: no other code
	// writes there.
	Screen sync.Locker

	// Said has lines for the person that are no questions. Approve shows them. nil: there are none.
	Said <-chan string

	in *input
}

// Source delivers the questions and receives the answers. It is an approval.Subscription, or a web.Client where the questions are
// those of another process.
type Source interface {
	Next(ctx context.Context) (approval.Event, error)
	Content(ctx context.Context, id string) ([]byte, error)
	Answer(ctx context.Context, id string, a approval.Answer) error
}

// Approve asks the person about each question as it comes. It ends if ctx ends, if the source ends, if the person quits, or
// if the input ends. Quitting is not an error, but Ctrl-C is ErrInterrupted. The end of the input is io.EOF if there was no
// answer, and otherwise not an error. If a question is answered elsewhere, its prompt ends.
func (d *Dialog) Approve(ctx context.Context, src Source) error {
	box := newInbox(src)
	box.from = d.Said
	defer box.begin(ctx)()
	_, err := d.ask(ctx, box, false, true)
	return err
}

// During calls do, and meanwhile asks the person about each question. The context of do is cancelled if the person quits,
// or if the input or src ends. During returns the error of do, or ErrInterrupted after Ctrl-C.
func (d *Dialog) During(ctx context.Context, src Source, do func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	asking, stop := context.WithCancel(ctx)
	done := make(chan error)
	go func() {
		box := newInbox(src)
		end := box.begin(asking)
		quit, err := false, error(nil)
		for !quit && err == nil && asking.Err() == nil {
			if d.byKeys() && !box.wait(asking) { // between questions, the terminal is the agent's
				break
			}
			quit, err = d.ask(asking, box, d.byKeys(), false)
		}
		end()
		cancel()
		done <- err
	}()
	err := do(ctx)
	stop()
	if asked := <-done; errors.Is(asked, ErrInterrupted) {
		return asked
	}
	return err
}

// Ask implements approval.Approver. If the person leaves without an answer, the answer is Cancel. The end of the input is io.EOF.
func (d *Dialog) Ask(ctx context.Context, q approval.Question) (approval.Answer, error) {
	src := &single{content: q.Content, answer: approval.Answer{Verdict: approval.Cancel}}
	box := newInbox(src)
	box.events = []approval.Event{{Opened: &q}}
	_, err := d.ask(ctx, box, true, false)
	if err == nil {
		err = ctx.Err()
	}
	return src.answer, err
}

// ask asks the questions of an inbox until the person quits; with passing, until no question is open. waits says that it waits
// for questions.
func (d *Dialog) ask(ctx context.Context, box *inbox, passing, waits bool) (quit bool, err error) {
	c := &Chat{In: d.In, Out: d.Out, Env: d.Env, Editor: d.Editor, Questions: box.src}
	m := newChat(ctx, c)
	m.inbox, m.passing, m.waits = box, passing, waits
	if !d.byKeys() {
		m.color = m.color && isTerminal(d.Out) && c.getenv("TERM") != "dumb"
		err = m.askByLines(ctx, d.input())
	} else {
		if d.Screen != nil {
			d.Screen.Lock()
			defer d.Screen.Unlock()
		}
		err = m.show(ctx)
	}
	if err == nil {
		err = m.failed
	}
	return m.left, err
}

// byKeys reports whether the person answers with single keys.
func (d *Dialog) byKeys() bool {
	return (&Chat{In: d.In, Out: d.Out, Env: d.Env}).moves()
}

func (d *Dialog) input() *input {
	if d.in == nil {
		d.in = &input{r: d.In}
	}
	return d.in
}

// single is the source of one question.
type single struct {
	content []byte
	answer  approval.Answer
}

// Next implements Source.
func (s *single) Next(ctx context.Context) (approval.Event, error) {
	<-ctx.Done()
	return approval.Event{}, ctx.Err()
}

// Content implements Source.
func (s *single) Content(context.Context, string) ([]byte, error) {
	return append([]byte(nil), s.content...), nil
}

// Answer implements Source.
func (s *single) Answer(_ context.Context, _ string, a approval.Answer) error {
	s.answer = a
	return nil
}

// inbox keeps the events of a source until a chat takes them. So a chat that ends loses none.
type inbox struct {
	src  Source
	from <-chan string // lines for the person; nil: none
	more chan struct{} // has an element if there may be something new

	mu     sync.Mutex
	events []approval.Event
	said   []string
	err    error  // the source has ended
	reset  func() // resets the terminal; nil: its mode was not changed
}

func newInbox(src Source) *inbox { return &inbox{src: src, more: make(chan struct{}, 1)} }

// begin takes events from the source until it or ctx ends. end stops this, and waits until it has stopped.
func (b *inbox) begin(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		for {
			select {
			case line := <-b.from:
				b.mu.Lock()
				b.said = append(b.said, line)
				b.mu.Unlock()
				b.notify()
			case <-ctx.Done():
				return
			}
		}
	})
	done.Go(func() {
		defer func() {
			if r := recover(); r != nil {
				b.mu.Lock()
				reset := b.reset
				b.mu.Unlock()
				if reset != nil {
					reset()
				}
				panic(r)
			}
		}()
		for {
			e, err := b.src.Next(ctx)
			if ctx.Err() != nil {
				return
			}
			b.mu.Lock()
			if b.err = err; err == nil {
				b.events = append(b.events, e)
			}
			b.mu.Unlock()
			b.notify()
			if err != nil {
				return
			}
		}
	})
	return func() { cancel(); done.Wait() }
}

// notify says that there may be something new.
func (b *inbox) notify() {
	select {
	case b.more <- struct{}{}:
	default:
	}
}

// take returns the events and lines that have come, and the error with which the source has ended.
func (b *inbox) take() (events []approval.Event, said []string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	events, said = b.events, b.said
	b.events, b.said = nil, nil
	return events, said, b.err
}

// wait waits until there is a question to take, or the source has ended. It reports false if ctx ends before.
func (b *inbox) wait(ctx context.Context) bool {
	for {
		b.mu.Lock()
		for len(b.events) > 0 && b.events[0].Opened == nil { // of a question that is not on the screen
			b.events = b.events[1:]
		}
		some := len(b.events) > 0 || b.err != nil
		b.mu.Unlock()
		if some || !b.next(ctx) {
			return some
		}
	}
}

// next waits until there may be something new. It reports false if ctx ends before.
func (b *inbox) next(ctx context.Context) bool {
	select {
	case <-b.more:
		return true
	case <-ctx.Done():
		return false
	}
}

// onReset sets what resets the terminal if the source panics; nil: nothing.
func (b *inbox) onReset(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reset = f
}
