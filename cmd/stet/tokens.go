package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/trim/transcript"
)

// countedMax is the largest file that is counted as one text or body.
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
		Short: "Count the tokens of a text, a request or a recorded session",
		Long: `Count the tokens of a text file, of the body of a request (Messages, Chat Completions
or Responses API), or of an agent's recorded session. "-" is standard input. The
count of a text is exact if the model's vocabulary is public (o200k_base, cl100k_base),
and an estimate otherwise. Of a request or a session it is an estimate: images and
other blocks that are not text count by their kind, and providers add to the text. For a session with recorded usage, the command compares the
expected size of each request with the size that the provider reported.`,
		Example: `stet tokens main.go
stet tokens --model gpt-4 request.json
stet tokens --json ~/.claude/projects/p/session.jsonl`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return usage(cmd, errors.New("want one FILE, or - for standard input"))
			}
			return nil
		},
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
	if file == "-" {
		b, err := io.ReadAll(io.LimitReader(c.in, countedMax+1))
		if err != nil {
			return nil, err
		}
		return countData("standard input", b, c.model)
	}
	path := c.absolute(file)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	b, err := wholeObject(path, info)
	if err != nil {
		return nil, err
	}
	if b != nil {
		if counted, ok, err := report.CountBody(file, b, c.model); ok || err != nil {
			return counted, err
		}
	}
	sessions, err := transcript.Opener{SQLite: openReadOnly}.Open(path)
	switch {
	case err == nil:
		return report.CountSessions(file, sessions, c.model), nil
	case !errors.Is(err, transcript.ErrFormat) && !errors.Is(err, transcript.ErrEmpty), info.IsDir():
		return nil, err
	case info.Size() > countedMax:
		return nil, fmt.Errorf("%s: %d bytes, and no session that stet knows: too large to count as one text", file, info.Size())
	}
	if b, err = os.ReadFile(path); err != nil {
		return nil, err
	}
	return report.CountText(file, b, c.model)
}

// wholeObject returns the file at path if it begins like a JSON object and is not too large for a request; otherwise nil.
func wholeObject(path string, info os.FileInfo) ([]byte, error) {
	if !info.Mode().IsRegular() || info.Size() > countedMax {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if head = bytes.TrimSpace(head[:n]); len(head) == 0 || head[0] != '{' {
		return nil, nil
	}
	return os.ReadFile(path)
}

func countData(name string, b []byte, model string) (*report.Tokens, error) {
	if len(b) > countedMax {
		return nil, fmt.Errorf("%s: more than %d bytes", name, countedMax)
	}
	if counted, ok, err := report.CountBody(name, b, model); ok || err != nil {
		return counted, err
	}
	return report.CountText(name, b, model)
}
