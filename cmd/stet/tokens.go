package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/llm/prices"
)

// countedMax is the largest file that is counted, in bytes.
const countedMax = 256 << 20

// tokensCommand is stet tokens.
type tokensCommand struct {
	command
	json  bool
	model string
}

func newTokens(p *program) *cobra.Command {
	c := &tokensCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "tokens [flags] FILE",
		Short: "Count the tokens of a text or a request",
		Long: `Count the tokens of a text file, or of the body of a request (Messages, Chat Completions,
Responses or Gemini API). "-" is standard input. The count of a text is exact if the
model's vocabulary is public (o200k_base, cl100k_base), and an estimate otherwise. Of a
request it is an estimate: images and other blocks that are not text count by their
kind, and providers add to the text.`,
		Example: `stet tokens main.go
stet tokens --model gpt-4 request.json`,
		Args: oneArg("a file, or - for standard input"),
	}, &c.command, c.Run)
	cmd.Flags().StringVar(&c.model, "model", "", "count the tokens of this model (default the model that the file names, else the vocabulary o200k_base)")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *tokensCommand) Run(context.Context) error {
	if _, known := prices.Lookup(c.model); c.model != "" && !known {
		c.say("the model %q is not known: its tokens are estimated", c.model)
	}
	counted, err := c.count(c.args[0])
	if err != nil {
		return err
	}
	if c.json {
		return c.printJSON(counted)
	}
	counted.Print(c.screen(c.out))
	return nil
}

// count counts a file according to its content.
func (c *tokensCommand) count(file string) (*report.Tokens, error) {
	in, name := c.in, "standard input"
	if file != "-" {
		f, err := os.Open(c.absolute(file))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in, name = f, file
	}
	b, err := io.ReadAll(io.LimitReader(in, countedMax+1))
	switch {
	case err != nil:
		return nil, err
	case len(b) > countedMax:
		return nil, fmt.Errorf("%s: more than %d bytes", name, countedMax)
	}
	if counted, ok, err := report.CountBody(name, b, c.model); ok || err != nil {
		return counted, err
	}
	return report.CountText(name, b, c.model)
}
