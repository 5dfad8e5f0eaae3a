package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/stet-dev/stet/files/approval"
)

// Source delivers the questions and receives the answers. It is an approval.Subscription, or a web.Client where
// the questions are those of another process.
type Source interface {
	Next(ctx context.Context) (approval.Event, error)
	Content(ctx context.Context, id string) ([]byte, error)
	Answer(ctx context.Context, id string, a approval.Answer) error
}

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

// Approve asks the person about each question as it comes. It ends if ctx ends, if the source ends, if the person quits, or
// if the input ends. Quitting is not an error. The end of the input is io.EOF if there was no answer, and otherwise not an
// error. If a question is answered elsewhere, its prompt ends.
func (d *Dialog) Approve(ctx context.Context, src Source) error {
	return d.approve(ctx, src, false)
}

func (d *Dialog) approve(ctx context.Context, src Source, quiet bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a := &approving{d: d, src: src, events: make(chan approval.Event), failed: make(chan error, 1), quiet: quiet}
	done := make(chan struct{})
	defer func() { cancel(); <-done }()
	go func() {
		defer close(done)
		defer d.resetOnPanic()
		for {
			e, err := src.Next(ctx)
			if err != nil {
				a.failed <- err
				return
			}
			select {
			case a.events <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	err := a.work(ctx)
	if errors.Is(err, approval.ErrClosed) { // it may wrap an io.EOF of the source
		return err
	}
	ended := errors.Is(err, io.EOF)
	if ended {
		d.printf("the input has ended; the questions stay open\n")
	}
	if errors.Is(err, errQuit) || ended && a.answered {
		return nil
	}
	return err
}

// During calls do, and meanwhile asks the person about each question. The context of do is cancelled if the person quits,
// or if the input or src ends. During returns the error of do.
func (d *Dialog) During(ctx context.Context, src Source, do func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	asking, stopAsking := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = d.approve(asking, src, true) // the person has quit, the input has ended, or do has ended
		cancel()
	}()
	defer func() { stopAsking(); <-done }()
	return do(ctx)
}

// approving is the state of Approve.
type approving struct {
	d      *Dialog
	src    Source
	events chan approval.Event
	failed chan error
	open   questions
	idle   bool         // the message that there are no questions was printed
	quiet  bool         // this message is not printed
	count  atomic.Int64 // number of open questions

	answered bool // at least one question was answered
}

func (a *approving) work(ctx context.Context) error {
	for {
		if len(a.open) == 0 {
			if !a.idle && !a.quiet {
				ends := "Ctrl-C ends"
				if a.d.byKeys() {
					ends = "q ends"
				}
				a.d.printf("waiting for questions (%s)\n", ends)
				a.idle = true
			}
			if err := a.wait(ctx); err != nil {
				return err
			}
			continue
		}
		a.idle = false
		if err := a.askFirst(ctx); err != nil {
			return err
		}
	}
}

// wait waits for an event, or for the end of the input.
func (a *approving) wait(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		defer a.d.resetOnPanic()
		if a.d.byKeys() && !a.quiet {
			ended <- a.d.idle(ctx)
			return
		}
		ended <- a.d.input().end(ctx)
	}()
	select {
	case e := <-a.events:
		a.take(e)
		cancel()
		<-ended // only one goroutine may read the input
		return nil
	case err := <-a.failed:
		cancel()
		<-ended
		return err
	case err := <-ended: // the input or ctx has ended
		cancel()
		return err
	}
}

func (a *approving) remove(id string) {
	a.open.remove(id)
	a.count.Store(int64(len(a.open)))
}

func (a *approving) take(e approval.Event) {
	switch {
	case e.Opened != nil:
		a.open = append(a.open, *e.Opened)
		a.count.Store(int64(len(a.open)))
	case e.Closed != nil:
		a.remove(e.Closed.ID)
	}
}

// askFirst asks about the first question. Meanwhile it processes the events that arrive.
func (a *approving) askFirst(ctx context.Context) error {
	q := a.open[0]
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	var answer approval.Answer
	answered := make(chan error, 1)
	go func() {
		defer a.d.resetOnPanic()
		var err error
		answer, err = a.d.ask(asking, q, func() int { return int(a.count.Load()) }, func() ([]byte, error) { return a.src.Content(asking, q.ID) })
		answered <- err
	}()
	var closed *approval.Closing
	var failed error
	for {
		select {
		case e := <-a.events:
			a.take(e)
			if e.Closed != nil && e.Closed.ID == q.ID {
				closed = e.Closed
				cancel()
			}
		case failed = <-a.failed:
			cancel()
		case err := <-answered:
			switch {
			case failed != nil:
				return failed
			case closed != nil:
				return a.tellClosed(ctx, *closed)
			case errors.Is(err, errNext):
				a.open.rotate()
				return nil
			case errors.Is(err, errList):
				return a.choose(ctx)
			case err != nil:
				return err
			}
			return a.answer(ctx, q, answer)
		}
	}
}

// choose lists the open questions, and moves the one that the person chooses to the front. If they choose none, the first
// one stays in front. The question in front is then shown again.
func (a *approving) choose(ctx context.Context) error {
	var lines []string
	for _, q := range a.open {
		lines = append(lines, fmt.Sprintf("%s %s, of %s", q.Tool, q.Path, cmp.Or(q.Client, q.Session)))
	}
	at, err := a.d.choose(ctx, lines)
	if err == nil && at > 0 {
		q := a.open[at]
		a.open = slices.Insert(slices.Delete(a.open, at, at+1), 0, q)
	}
	return err
}

// choose lets the person choose one of the lines, and returns its index, or -1.
func (d *Dialog) choose(ctx context.Context, lines []string) (int, error) {
	if d.byKeys() {
		return d.pick(ctx, "Decide on which first?", lines)
	}
	for i, line := range lines {
		d.say("", fmt.Sprintf("%3d  %s", i+1, line))
	}
	line, err := d.prompt(ctx, "number (Enter: 1) ")
	if err != nil {
		return -1, err
	}
	if n, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && n > 0 && n <= len(lines) {
		return n - 1, nil
	}
	return -1, nil
}

// tellClosed says how the question on the screen was closed. It waits for Enter, so that input which the person typed
// before they saw this does not answer the next question.
func (a *approving) tellClosed(ctx context.Context, c approval.Closing) error {
	a.d.say(yellow, "no longer open: "+c.String())
	if a.d.byKeys() {
		return a.d.promptEnter(ctx, "Enter goes on")
	}
	_, err := a.d.prompt(ctx, "Enter goes on ")
	return err
}

func (a *approving) answer(ctx context.Context, q approval.Question, answer approval.Answer) error {
	err := a.src.Answer(ctx, q.ID, answer)
	if errors.Is(err, approval.ErrClosed) || ctx.Err() != nil {
		return err
	}
	if err == nil || errors.Is(err, approval.ErrAnswered) || errors.Is(err, approval.ErrUnknown) {
		a.remove(q.ID)
	}
	if err != nil {
		a.d.printError(err) // a question that is still open is asked again
		return nil
	}
	a.answered = true
	a.d.printf("%s\n", approval.Closing{How: string(answer.Verdict)})
	if answer.Verdict != approval.ForSession && answer.Verdict != approval.ForPattern {
		return nil
	}
	return a.removeCovered(ctx, q.ID)
}

// removeCovered removes the questions that the answer to question id also covers. Their closing events come before the one
// of id.
func (a *approving) removeCovered(ctx context.Context, id string) error {
	for others := 0; ; {
		select {
		case e := <-a.events:
			if a.take(e); e.Closed == nil {
				continue
			}
			if e.Closed.ID != id {
				others++
				continue
			}
			if others > 0 {
				a.d.printf("and with it %d more that were open\n", others)
			}
			return nil
		case err := <-a.failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
