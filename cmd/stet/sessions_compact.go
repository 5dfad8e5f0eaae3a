package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/localagent"
	"github.com/stet-dev/stet/cmd/stet/internal/process"
	"github.com/stet-dev/stet/cmd/stet/internal/terminal"
	"github.com/stet-dev/stet/session"
)

// sessionsCompactCommand is stet sessions compact.
type sessionsCompactCommand struct {
	command
	agentFlags
	focus string
}

func newSessionsCompact(p *program) *cobra.Command {
	c := &sessionsCompactCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "compact SESSION [flags]",
		Short: "Replace a long session by a summary, in a new session",
		Long: `Let a model write a summary of a session. The summary begins a new session, whose ID is
printed; "stet chat --continue" continues it. The old session stays as it is, and takes
no more messages.`,
		Example: `stet sessions compact latest --focus "what is left to do"`,
		Args:    nArgs(1, 1, "a session"),
	}, &c.command, c.Run)
	addAgentFlags(cmd.Flags(), &c.agentFlags)
	cmd.Flags().StringVar(&c.focus, "focus", "", "what is most important for the summary to keep")
	return cmd
}

func (c *sessionsCompactCommand) Run(ctx context.Context) (err error) {
	id, err := c.openSession(ctx, &c.agentFlags)
	if err != nil {
		return err
	}
	ctx, stop := process.UntilEndedLast(ctx)
	defer stop()
	h, err := c.openAgent(ctx, c.agentFlags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	talk, err := h.Resume(ctx, id)
	if err != nil {
		return err
	}
	if err := talk.Compact(ctx, c.focus, (&terminal.Lines{Out: c.err, Err: c.err}).Tell); err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.out, talk.ID())
	return err
}

// openSession finds the session named by the first argument. Unless --root is set, the agent works in the directory of the session.
func (c *command) openSession(ctx context.Context, f *agentFlags) (id string, err error) {
	err = c.withSessions(ctx, func(store session.Store) error {
		found, err := localagent.FindSession(ctx, store, c.args[0], "")
		if id = found.ID; found.Dir != "" && !c.cmd.Flags().Changed("root") {
			f.root, f.named = found.Dir, true
		}
		return err
	})
	return id, err
}
