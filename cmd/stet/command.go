package main

import (
	"context"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/process"
)

// command is embedded in the struct of each command: the program's environment, and the command line. The struct's fields are the
// command's flags, and its method Run does the work.
type command struct {
	*program
	cmd  *cobra.Command
	args []string
}

// runs sets up cmd so that it runs do with the command line in c.
func (p *program) runs(cmd *cobra.Command, c *command, do func(context.Context) error) *cobra.Command {
	c.program, c.cmd = p, cmd
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c.args = args
		return do(cmd.Context())
	}
	return cmd
}

// arg returns the first argument, empty where there is none.
func (c *command) arg() string {
	if len(c.args) > 0 {
		return c.args[0]
	}
	return ""
}

// usage marks err as a usage error.
func (c *command) usage(err error) error { return usage(c.cmd, err) }

// settings reads the configuration; the command's flags have priority. workspace is the directory whose rules apply; "" for
// commands without file tools.
func (c *command) settings(workspace string) (*config.Config, error) {
	return c.config(c.cmd, c.dir, workspace)
}

// interruptible runs work that a signal cancels. A second signal ends the program
// at once.
func interruptible(ctx context.Context, work func(context.Context) error) error {
	signals := process.Notify(process.EndSignals)
	defer signal.Stop(signals)
	ctx, stop := process.LastCall(ctx, signals)
	defer stop()
	err := work(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
