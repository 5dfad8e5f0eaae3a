package terminal

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
)

// runPlain is Run without a terminal: the whole input is one prompt.
func (c *Chat) runPlain(ctx context.Context) error {
	if isTerminal(c.In) {
		return errors.New("a chat needs a terminal with a size, whose cursor can be moved (TERM), for input and output: \"stet run\" does one task anywhere")
	}
	text, err := io.ReadAll(c.In)
	if err != nil {
		return err
	}
	if strings.TrimSpace(string(text)) == "" {
		return errors.New("nothing was said on the standard input")
	}
	lines := &Lines{Out: c.Out, Err: c.Err}
	out, err := c.Talk.Run(ctx, []llm.Part{{Kind: llm.Text, Text: string(text)}}, lines.Tell)
	lines.End()
	if err == nil && out.End != agent.Done {
		err = errors.New(endWords(out.End))
	}
	return err
}
