package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
)

// runPlain is Run without a terminal whose cursor can be moved. The whole content of a pipe is one prompt. At a terminal,
// each line is one prompt.
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
	d := &Dialog{In: c.In, Out: c.Err, Env: c.Env, Editor: c.Editor}
	for {
		_, _ = io.WriteString(c.Err, "> ") // if the terminal is closed, the next read fails
		line, err := d.input().line(ctx)
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
			_, _ = fmt.Fprintln(c.Err, painter{}.visible("", err.Error()))
		}
	}
}

// plainTurn runs the agent with a prompt. d asks the person; nil: no questions are asked.
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
		_, _ = fmt.Fprintln(c.Out, painter{}.words("", l)) // an error is ignored, as in Lines
	}
	return nil
}
