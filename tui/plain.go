package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/term"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
)

func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}

// Lines tells what an agent does in plain lines: what the model says goes to
// Out, as it is where that is no terminal, and all else to Err.
type Lines struct {
	Out, Err io.Writer
	Color    bool // on Err

	open bool   // the line of an answer has no end yet
	held []byte // the beginning of a character that is cut in two
}

// Tell tells an event. One at a time.
func (l *Lines) Tell(e agent.Event) {
	pt := painter{l.Color}
	switch {
	case e.Kind == agent.Piece && e.Piece.Kind == llm.TextDelta && e.Task == "":
		l.write(e.Piece.Text)
	case e.Kind == agent.Piece && e.Piece.Kind == llm.Retrying:
		l.note(fmt.Sprintf("%v; again in %v", e.Piece.Err, e.Piece.Wait.Round(time.Second)))
	case e.Kind == agent.Answered:
		l.End()
	case e.Kind == agent.CallEnds:
		text, failed := e.Result.Text, e.Result.Failed()
		if e.Err != nil {
			text, failed = e.Err.Error(), true
		}
		l.End()
		for _, line := range pt.call(e.Call, text, failed, took(e.Took), 1000, false) {
			_, _ = fmt.Fprintln(l.Err, line) // what is told of the work is no part of it
		}
	case e.Kind == agent.Changed:
		l.note("changed by somebody else: " + strings.Join(pathTexts(e.Paths), ", "))
	case e.Kind == agent.Warned:
		l.note("the window is " + share(e.Fill) + " full")
	case e.Kind == agent.Compacted:
		l.note("summed up; it goes on as session " + e.To)
	case e.Kind == agent.NotCompacted:
		l.note(fmt.Sprintf("not summed up: %v", e.Err))
	}
}

func (l *Lines) note(text string) {
	l.End()
	_, _ = fmt.Fprintln(l.Err, painter{l.Color}.words(dim, "· "+text)) // as above
}

// write writes some of an answer.
func (l *Lines) write(text string) {
	if text == "" {
		return
	}
	if isTerminal(l.Out) {
		text = l.safe(text)
	}
	if text != "" {
		l.open = !strings.HasSuffix(text, "\n")
	}
	_, _ = io.WriteString(l.Out, text) // where it cannot be written, the outcome still can be told
}

// safe is text for a terminal. A character that is cut in two waits for its end.
func (l *Lines) safe(text string) string {
	text = string(l.held) + text
	whole := len(text)
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if tail := text[len(text)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) {
				whole = len(text) - i
			}
			break
		}
	}
	l.held = append(l.held[:0], text[whole:]...)
	lines := strings.Split(text[:whole], "\n")
	for i := range lines {
		lines[i] = painter{}.words("", lines[i])
	}
	return strings.Join(lines, "\n")
}

// End ends the line of an answer.
func (l *Lines) End() {
	if len(l.held) > 0 {
		_, _ = io.WriteString(l.Out, painter{}.words("", string(l.held)))
		l.held = nil
		l.open = true
	}
	if l.open {
		_, _ = io.WriteString(l.Out, "\n")
		l.open = false
	}
}

// runPlain is Run without a screen. From a pipe comes one prompt; at a terminal
// each line is one.
func (c *Chat) runPlain(ctx context.Context) error {
	if !isTerminal(c.In) {
		text, err := io.ReadAll(c.In)
		if err != nil {
			return err
		}
		if strings.TrimSpace(string(text)) == "" {
			return errors.New("nothing was said on the standard input")
		}
		return c.plainTurn(ctx, nil, string(text))
	}
	d := &Dialog{In: c.In, Out: c.Err, Editor: c.Editor}
	for {
		line, err := d.prompt(ctx, "> ")
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		switch line = strings.TrimSpace(line); {
		case line == "":
		case line == "/quit", line == "/exit":
			return nil
		case strings.HasPrefix(line, "/"):
			err = c.plainCommand(ctx, line)
		default:
			err = c.plainTurn(ctx, d, line)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			d.complain(err)
		}
	}
}

// plainTurn has the agent work on a prompt. d answers for the person; nil:
// nobody does.
func (c *Chat) plainTurn(ctx context.Context, d *Dialog, text string) error {
	var said []llm.Part
	if text != "" {
		said = []llm.Part{{Kind: llm.Text, Text: text}}
	}
	lines := &Lines{Out: c.Out, Err: c.Err}
	run := func(ctx context.Context) error {
		out, err := c.Talk.Run(ctx, said, lines.Tell)
		lines.End()
		if err == nil && out.End != agent.Done {
			err = errors.New(endWords(out.End))
		}
		return err
	}
	if d == nil || c.Questions == nil {
		return run(ctx)
	}
	return d.During(ctx, c.Questions, run)
}

func (c *Chat) plainCommand(ctx context.Context, line string) error {
	name, rest, _ := strings.Cut(line, " ")
	var out []string
	switch name {
	case "/help":
		out = []string{"/compact [FOCUS], /continue, /context, /cost, /quit"}
	case "/context":
		out = contextText(c.Talk.Fill(), 80)
	case "/cost":
		out = costText(c.Talk.Spent())
	case "/compact":
		return c.Talk.Compact(ctx, strings.TrimSpace(rest), (&Lines{Out: c.Out, Err: c.Err}).Tell)
	case "/continue":
		return c.plainTurn(ctx, nil, "")
	default:
		return fmt.Errorf("there is no %s here; /help says what there is", name)
	}
	for _, l := range out {
		_, _ = fmt.Fprintln(c.Out, painter{}.words("", l)) // as in Lines
	}
	return nil
}
