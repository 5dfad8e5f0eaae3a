// Package terminal asks people questions on a terminal, and shows the output of an agent. [Dialog] asks one question after the
// other. Its input is lines, or single keys on a terminal. Its output is lines. [Chat] is a conversation with an agent.
// Both use the same state machine for a question, decision.
//
// Text of an agent or of a file is never written to the terminal unchanged: a painter replaces control characters and
// bidirectional characters by escapes.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"

	"github.com/stet-dev/stet/files/approval"
)

// Dialog asks a person about one question after the other.
type Dialog struct {
	In     io.Reader // a terminal, or another source of lines
	Out    io.Writer
	Color  bool
	Lines  int    // number of lines of a diff that are shown first; the person can ask for the rest; 0: 100
	Editor string // a shell command for Edit, as in $EDITOR; "": Edit is not offered

	// Keys accepts choices as single keys, without Enter, if In and Out are terminals. Otherwise a choice is a line.
	Keys bool

	in *input

	mu        sync.Mutex
	leaveKeys func() // resets the terminal; nil: its mode was not changed
}

// These errors mean that a person leaves a question without an answer: for the next question, for the list, or to quit.
var (
	errNext = errors.New("left for later")
	errList = errors.New("left for the list")
	errQuit = errors.New("enough")
)

// Ask implements approval.Approver. If the person leaves without an answer, the answer is Cancel.
func (d *Dialog) Ask(ctx context.Context, q approval.Question) (approval.Answer, error) {
	a, err := d.ask(ctx, q, nil, func() ([]byte, error) { return append([]byte(nil), q.Content...), nil })
	if errors.Is(err, errNext) || errors.Is(err, errQuit) || errors.Is(err, io.EOF) {
		return approval.Answer{Verdict: approval.Cancel}, nil
	}
	return a, err
}

// ask shows a question and waits for the answer or the end of ctx. open counts the open questions that can be listed; nil: there is
// no list. content returns the text with which Edit begins.
func (d *Dialog) ask(ctx context.Context, q approval.Question, open func() int, content func() ([]byte, error)) (approval.Answer, error) {
	d.input().discard()
	c := &decision{q: q, open: open, editor: d.Editor != "", unseen: d.show(q, d.lines())}
	for {
		line, err := d.next(ctx, c)
		if err != nil {
			d.printf("\n")
			return approval.Answer{}, err
		}
		next := c.typed(line)
		if next.edit {
			if next = d.edit(c, content); ctx.Err() != nil {
				return approval.Answer{}, ctx.Err()
			}
		}
		switch {
		case next.leave != nil:
			return approval.Answer{}, next.leave
		case next.answer.Verdict != "":
			return next.answer, nil
		case next.show:
			c.unseen = d.show(q, -1)
		case next.err != nil:
			d.printError(next.err)
		case next.note != "":
			for line := range strings.Lines(next.note) {
				d.say("", strings.TrimSuffix(line, "\n"))
			}
		}
	}
}

// next waits for the next input: a key if one is enough, otherwise a line.
func (d *Dialog) next(ctx context.Context, c *decision) (string, error) {
	if !d.byKeys() {
		return d.prompt(ctx, c.prompt()+" ")
	}
	if c.byKey() {
		return d.promptKey(ctx, c.prompt())
	}
	if c.stage == confirming { // the rest of a paste must not approve anything
		if err := d.settle(ctx); err != nil {
			return "", err
		}
	}
	return d.prompt(ctx, c.prompt()+" ")
}

// show prints a question, and at most that many lines of its diff; -1: all of them. It returns a sentence on what is not
// shown, or "".
func (d *Dialog) show(q approval.Question, most int) (unseen string) {
	lines, unseen := d.painter().question(q, most)
	d.printf("\n%s\n", strings.Join(lines, "\n"))
	return unseen
}

// edit lets the person change the text. Keys that they typed while the editor had the terminal are dropped.
func (d *Dialog) edit(c *decision, content func() ([]byte, error)) step {
	before, err := content()
	if err != nil {
		return step{err: err}
	}
	after, err := runEditor(d.Editor, path.Base(c.q.Path), before, d.In, d.Out)
	next := c.edited(before, after, err)
	if c.stage == writing {
		d.input().discard()
	}
	return next
}

func (d *Dialog) painter() painter { return painter{d.Color} }

func (d *Dialog) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(d.Out, format, args...) // if the terminal is closed, the next read fails
}

// say writes a line in a style.
func (d *Dialog) say(style, text string) { d.printf("%s\n", d.painter().text(style, text)) }

func (d *Dialog) printError(err error) { d.say(yellow, err.Error()) }

func (d *Dialog) input() *input {
	if d.in == nil {
		d.in = &input{r: d.In}
	}
	return d.in
}

func (d *Dialog) lines() int {
	if d.Lines == 0 {
		return 100
	}
	return d.Lines
}

func (d *Dialog) prompt(ctx context.Context, text string) (string, error) {
	d.printf("%s", d.painter().paint(bold, d.painter().visible("", text)))
	return d.input().line(ctx)
}
