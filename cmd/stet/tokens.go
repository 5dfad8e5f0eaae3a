package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/prices"
	"github.com/stet-dev/stet/tokens"
	"github.com/stet-dev/stet/tokens/exact"
	"github.com/stet-dev/stet/transcript"
)

// countedMax is how large a file may be that is counted as one text or body.
const countedMax = 256 << 20

// counted is what `stet tokens --json` prints.
type counted struct {
	File     string         `json:"file"`
	Kind     string         `json:"kind"` // text, request, session
	*tally                  // of a text or a request
	Sessions []sessionTally `json:"sessions,omitempty"`
}

// tally is how many tokens there are of what.
type tally struct {
	Model  string       `json:"model,omitempty"`
	Method string       `json:"method"`        // the exact vocabulary's name, or estimate
	API    string       `json:"api,omitempty"` // of a request: messages, chat, responses
	Bytes  int          `json:"bytes,omitempty"`
	Tokens int          `json:"tokens"`
	Tools  int          `json:"tools,omitempty"` // tokens of the descriptions of tools
	Shares []tokenShare `json:"shares,omitempty"`
}

type tokenShare struct {
	Role   llm.Role `json:"role"`
	Kind   string   `json:"kind"`
	Parts  int      `json:"parts"`
	Tokens int      `json:"tokens"`
}

func (p *program) tokensCommand() *cobra.Command {
	var asJSON bool
	var model string
	cmd := &cobra.Command{
		Use:   "tokens [flags] FILE",
		Short: "Count the tokens of a text, a request or a recorded session",
		Long: `Count tokens: of a text file, of the body of a request (Messages, Chat Completions
or Responses API), or of an agent's recorded session. "-" is standard input. The
count is exact where the model's vocabulary is public (o200k_base, cl100k_base),
else estimated. Of a session, the sizes expected of its requests are held against
those the provider reported, where the recording carries them.`,
		Example: `stet tokens main.go
stet tokens --model gpt-4 request.json
stet tokens --json ~/.claude/projects/p/session.jsonl`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return usage(cmd, errors.New("want one FILE, or - for standard input"))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return p.runTokens(args[0], model, asJSON) },
	}
	cmd.Flags().StringVar(&model, "model", "", "the model whose tokens to count (default: the one the file names, else o200k_base)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (p *program) runTokens(file, model string, asJSON bool) error {
	if _, known := prices.Lookup(model); model != "" && !known {
		p.say("no model %q is known: its tokens are estimated", model)
	}
	c, err := p.countTokens(file, model)
	if err != nil {
		return err
	}
	if asJSON {
		enc := json.NewEncoder(p.out)
		enc.SetIndent("", "  ")
		return enc.Encode(c)
	}
	c.print(p.screen(p.out))
	return nil
}

// countTokens counts a file, by what it holds.
func (p *program) countTokens(file, model string) (*counted, error) {
	if file == "-" {
		b, err := io.ReadAll(io.LimitReader(p.in, countedMax+1))
		if err != nil {
			return nil, err
		}
		return countData("standard input", b, model)
	}
	path := p.absolute(file)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	b, err := wholeObject(path, info)
	if err != nil {
		return nil, err
	}
	if b != nil {
		if c, ok, err := countBody(file, b, model); ok || err != nil {
			return c, err
		}
	}
	sessions, err := transcript.Opener{SQLite: openReadOnly}.Open(path)
	switch {
	case err == nil:
		return countSessions(file, sessions, model), nil
	case !errors.Is(err, transcript.ErrFormat) && !errors.Is(err, transcript.ErrEmpty), info.IsDir():
		return nil, err
	case info.Size() > countedMax:
		return nil, fmt.Errorf("%s: %d bytes, and no session that stet knows: too large to count as one text", file, info.Size())
	}
	if b, err = os.ReadFile(path); err != nil {
		return nil, err
	}
	return countText(file, b, model)
}

// wholeObject returns the file at path if it begins like a JSON object and is
// not too large for a request; nil otherwise.
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

func countData(name string, b []byte, model string) (*counted, error) {
	if len(b) > countedMax {
		return nil, fmt.Errorf("%s: more than %d bytes", name, countedMax)
	}
	if c, ok, err := countBody(name, b, model); ok || err != nil {
		return c, err
	}
	return countText(name, b, model)
}

func countText(name string, b []byte, model string) (*counted, error) {
	if bytes.IndexByte(b, 0) >= 0 {
		return nil, fmt.Errorf("%s: not a text: it holds zero bytes", name)
	}
	counter, method := counterFor(model)
	return &counted{File: name, Kind: "text", tally: &tally{Model: model, Method: method, Bytes: len(b), Tokens: counter.Count(string(b))}}, nil
}

// counterFor returns the best counter for a model and how it counts. Without a
// model the exact one of o200k_base is it.
func counterFor(model string) (tokens.Counter, string) {
	vocabulary := prices.VocabularyO200k
	if model != "" {
		m, _ := prices.Lookup(model)
		vocabulary = m.Vocabulary
	}
	if c, err := exact.Counter(vocabulary); err == nil {
		return c, vocabulary
	}
	return tokens.EstimateFor(model), "estimate"
}
