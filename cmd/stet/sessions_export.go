package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/trim/transcript"
)

// exporters write a session in each format.
var exporters = map[string]func(io.Writer, session.State, []session.Event) error{
	"json": func(w io.Writer, st session.State, events []session.Event) error {
		return session.WriteJSON(w, st.ID, events)
	},
	"markdown": func(w io.Writer, st session.State, _ []session.Event) error { return session.WriteMarkdown(w, st) },
	"claude-code": func(w io.Writer, st session.State, _ []session.Event) error {
		return transcript.WriteClaudeCode(w, &transcript.Session{ID: st.ID, Dir: st.Dir, Messages: st.Messages})
	},
}

// sessionsExportCommand is stet sessions export.
type sessionsExportCommand struct {
	command
	format, output string
}

func newSessionsExport(p *program) *cobra.Command {
	c := &sessionsExportCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "export SESSION [flags]",
		Short: "Write a session to a file or to the standard output",
		Long: `Write a session to a file or to the standard output. "json" has all events, also those
that were rewound, byte for byte; "stet sessions import" reads it. "markdown" and
"claude-code" (the JSON lines of Claude Code's sessions) have the conversation in force.`,
		Example: `stet sessions export latest --format markdown
stet sessions export 0199 --output session.jsonl`,
		Args: nArgs(1, 1, "a session"),
	}, &c.command, c.Run)
	f := cmd.Flags()
	f.StringVar(&c.format, "format", "json", "format of the output: json, markdown or claude-code")
	f.StringVarP(&c.output, "output", "o", "", "write to this file, which must not exist (default standard output)")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"json", "markdown", "claude-code"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (c *sessionsExportCommand) Run(ctx context.Context) error {
	write := exporters[c.format]
	if write == nil {
		return c.usage(fmt.Errorf("--format: want json, markdown or claude-code, not %q", c.format))
	}
	return c.withState(ctx, c.args[0], func(st session.State, events []session.Event) error {
		if c.output == "" {
			return write(c.out, st, events)
		}
		return c.writeNew(c.output, func(w io.Writer) error { return write(w, st, events) })
	})
}

// writeNew makes a file that only its owner can read. If it cannot be written completely, it is removed.
func (p *program) writeNew(path string, write func(io.Writer) error) error {
	path = p.absolute(path)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is there already: name another file, or remove it", workspace.Quote(path))
	}
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
