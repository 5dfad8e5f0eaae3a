package main

import (
	"context"

	"github.com/spf13/cobra"
)

// sessionsResumeCommand is stet sessions resume.
type sessionsResumeCommand struct{ chatCommand }

func newSessionsResume(p *program) *cobra.Command {
	c := &sessionsResumeCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "resume SESSION [flags]",
		Short: "Continue a session in this terminal",
		Long: `Continue a session in this terminal, as "stet chat --resume" does, in the directory
of that session.`,
		Example: "stet sessions resume latest --model scripted",
		Args:    nArgs(1, 1, "a session"),
	}, &c.command, c.Run)
	addAgentFlags(cmd.Flags(), &c.agentFlags)
	addAllow(cmd.Flags(), &c.allowed)
	return cmd
}

func (c *sessionsResumeCommand) Run(ctx context.Context) (err error) {
	if c.resume, err = c.openSession(ctx, &c.agentFlags); err != nil {
		return err
	}
	c.args = nil
	return c.chatCommand.Run(ctx)
}
