// Package tui shows people what they are asked, and what an agent says, on a
// terminal. [Dialog] asks about one question after the other: lines in, lines
// out. [Chat] is a conversation with an agent.
//
// What comes from an agent or a file is never written to the terminal as it is:
// control and bidirectional characters appear as escapes.
package tui

import (
	"context"
	"errors"
	"io"
	"path"

	"github.com/stet-dev/stet/approval"
)

// Dialog asks a person about one question after the other.
type Dialog struct {
	In     io.Reader // a terminal, or whatever lines come from
	Out    io.Writer
	Color  bool
	Lines  int    // of a diff shown before the person asks for the rest; 0: 100
	Editor string // a shell command for Edit, as in $EDITOR; "": it is not offered

	in *input
}

// What a person may want other than to answer.
var (
	errNext = errors.New("left for later")
	errQuit = errors.New("enough")
)

// ask shows a question and waits for the answer, or the end of ctx. content
// fetches what Edit begins with.
func (d *Dialog) ask(ctx context.Context, q approval.Question, content func() ([]byte, error)) (approval.Answer, error) {
	d.input().discard()
	c := &decision{q: q, editor: d.Editor != "", unseen: d.show(q, d.lines())}
	for {
		line, err := d.prompt(ctx, c.prompt()+" ")
		if err != nil {
			d.printf("\n")
			return approval.Answer{}, err
		}
		m := c.typed(line)
		if m.edit {
			if m = d.edit(c, content); ctx.Err() != nil {
				return approval.Answer{}, ctx.Err()
			}
		}
		switch {
		case m.leave != nil:
			return approval.Answer{}, m.leave
		case m.answer.Verdict != "":
			return m.answer, nil
		case m.show:
			c.unseen = d.show(q, -1)
		case m.wrong != nil:
			d.complain(m.wrong)
		case m.say != "":
			d.printf("%s\n", d.visible(m.say))
		}
	}
}

// edit lets the person change the text. What was typed while the editor had the
// terminal is no answer.
func (d *Dialog) edit(c *decision, content func() ([]byte, error)) move {
	before, err := content()
	if err != nil {
		return move{wrong: err}
	}
	after, err := runEditor(d.Editor, path.Base(c.q.Path), before, d.In, d.Out)
	m := c.edited(before, after, err)
	if c.stage == writing {
		d.input().discard()
	}
	return m
}

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
	d.printf("%s", d.bold(d.visible(text)))
	return d.input().line(ctx)
}
