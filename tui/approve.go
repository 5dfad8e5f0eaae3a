package tui

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/stet-dev/stet/approval"
)

// Source is where questions come from and answers go: an approval.Client, or
// an approval.Subscription in the same process.
type Source interface {
	Next(ctx context.Context) (approval.Event, error)
	Content(ctx context.Context, id string) ([]byte, error)
	Answer(ctx context.Context, id string, a approval.Answer) error
}

// Approve asks the person about each question as it comes, until ctx ends, the
// source does, or the person has had enough, which is no error. A question that
// was answered elsewhere is taken off the screen. The end of the input ends it
// too; where not a single answer came, with io.EOF.
func (d *Dialog) Approve(ctx context.Context, src Source) error {
	return d.approve(ctx, src, false)
}

func (d *Dialog) approve(ctx context.Context, src Source, quiet bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, failed := make(chan approval.Event), make(chan error, 1)
	done := make(chan struct{})
	defer func() { cancel(); <-done }()
	go func() {
		defer close(done)
		for {
			e, err := src.Next(ctx)
			if err != nil {
				failed <- err
				return
			}
			select {
			case events <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	desk := &desk{d: d, src: src, events: events, failed: failed, quiet: quiet}
	err := desk.work(ctx)
	if errors.Is(err, approval.ErrClosed) { // which may be for an end of its own
		return err
	}
	ended := errors.Is(err, io.EOF)
	if ended {
		d.printf("the input has ended; what is asked stays open\n")
	}
	if errors.Is(err, errQuit) || ended && desk.answered {
		return nil
	}
	return err
}

// During does something, and asks the person about each question that comes
// meanwhile. When they have had enough, or the input ends, what is done ends too.
func (d *Dialog) During(ctx context.Context, src Source, do func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	asking, enough := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = d.approve(asking, src, true) // there is nobody to tell: they have left, or it is done
		cancel()
	}()
	defer func() { enough(); <-done }()
	return do(ctx)
}

// desk is the questions before a person.
type desk struct {
	d      *Dialog
	src    Source
	events chan approval.Event
	failed chan error
	open   []approval.Question
	idle   bool // the person was told that there is nothing to do
	quiet  bool // they are not to be told

	answered bool // at least one
}

func (k *desk) work(ctx context.Context) error {
	for {
		if len(k.open) == 0 {
			if !k.idle && !k.quiet {
				k.d.printf("nothing to approve; waiting (Ctrl-C ends)\n")
				k.idle = true
			}
			if err := k.wait(ctx); err != nil {
				return err
			}
			continue
		}
		k.idle = false
		if err := k.one(ctx, k.open[0]); err != nil {
			return err
		}
	}
}

// wait waits for an event, and looks out for the end of the input.
func (k *desk) wait(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- k.d.input().end(ctx) }()
	select {
	case e := <-k.events:
		k.take(e)
		cancel()
		<-ended // the input is for one at a time
		return nil
	case err := <-k.failed:
		cancel()
		<-ended
		return err
	case err := <-ended: // or of ctx
		cancel()
		return err
	}
}

// take notes an event.
func (k *desk) take(e approval.Event) {
	switch {
	case e.Opened != nil:
		k.open = append(k.open, *e.Opened)
	case e.Closed != nil:
		k.remove(e.Closed.ID)
	}
}

func (k *desk) remove(id string) {
	k.open = slices.DeleteFunc(k.open, func(q approval.Question) bool { return q.ID == id })
}

type reply struct {
	a   approval.Answer
	err error
}

// one asks about one question, while it looks out for others.
func (k *desk) one(ctx context.Context, q approval.Question) error {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	answered := make(chan reply, 1)
	go func() {
		a, err := k.d.ask(asking, q, func() ([]byte, error) { return k.src.Content(asking, q.ID) })
		answered <- reply{a, err}
	}()
	var gone *approval.Closing
	var broken error
	for {
		select {
		case e := <-k.events:
			k.take(e)
			if e.Closed != nil && e.Closed.ID == q.ID {
				gone = e.Closed
				cancel()
			}
			continue
		case broken = <-k.failed:
			cancel()
			continue
		case r := <-answered:
			switch {
			case broken != nil:
				return broken
			case gone != nil:
				return k.tellGone(ctx, *gone)
			case errors.Is(r.err, errNext):
				k.remove(q.ID)
				k.open = append(k.open, q) // the others first
				return nil
			case r.err != nil:
				return r.err
			}
			return k.answer(ctx, q, r.a)
		}
	}
}

// tellGone says what became of the question on the screen. What is typed until
// the person has seen that is no answer to the next one.
func (k *desk) tellGone(ctx context.Context, c approval.Closing) error {
	k.d.printf("%s\n", k.d.visibleIn(yellow, "no longer open: "+c.String()))
	_, err := k.d.prompt(ctx, "Enter goes on ")
	return err
}

func (k *desk) answer(ctx context.Context, q approval.Question, a approval.Answer) error {
	err := k.src.Answer(ctx, q.ID, a)
	if errors.Is(err, approval.ErrClosed) || ctx.Err() != nil {
		return err
	}
	if err == nil || errors.Is(err, approval.ErrAnswered) || errors.Is(err, approval.ErrUnknown) {
		k.remove(q.ID)
	}
	if err != nil {
		k.d.complain(err) // what is still open is asked again
		return nil
	}
	k.answered = true
	k.d.printf("%s\n", approval.Closing{How: string(a.Verdict)})
	if a.Verdict != approval.ForSession && a.Verdict != approval.ForPattern {
		return nil
	}
	return k.covered(ctx, q.ID)
}

// covered takes off the list what an answer that holds for more has answered
// with the question of that id: these are closed before it.
func (k *desk) covered(ctx context.Context, id string) error {
	for others := 0; ; {
		select {
		case e := <-k.events:
			if k.take(e); e.Closed == nil {
				continue
			}
			if e.Closed.ID != id {
				others++
				continue
			}
			if others > 0 {
				k.d.printf("and with it %d more that were open\n", others)
			}
			return nil
		case err := <-k.failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
