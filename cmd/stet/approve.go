package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strconv"
	"sync"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/process"
	"github.com/stet-dev/stet/cmd/stet/internal/socket"
	"github.com/stet-dev/stet/cmd/stet/internal/terminal"
	"github.com/stet-dev/stet/files/approval"
)

// approveCommand is stet approve.
type approveCommand struct {
	command
	root string
}

func newApprove(p *program) *cobra.Command {
	c := &approveCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "approve [PID]",
		Short: "Decide what an agent may write",
		Long: `Show what agents want to write, one question after the other, and take your
answers: approve it, for this session or a pattern of paths too, edit it first,
or reject it with words for the agent. On a terminal each answer is one key, and ?
says what the keys do; otherwise each answer is a line.

The questions of all servers are shown ("stet mcp", and the proxy with "stet guard"),
and of those that start later. It goes on until you press q. The number of a process
chooses one server, and ends with it; --root chooses those of one workspace.`,
		Example: `# In a second terminal, before or after the agent is started
stet approve`,
		Args: atMostOneArg,
	}, &c.command, c.Run)
	cmd.Flags().StringVar(&c.root, "root", "", "answer the questions of the servers with this workspace")
	return cmd
}

func (c *approveCommand) Run(ctx context.Context) error {
	pid, dir := 0, "" // of the servers that are meant; 0 and "": of any
	if arg := c.arg(); len(c.args) == 1 {
		n, err := strconv.Atoi(arg)
		if err != nil || n <= 0 {
			return c.usage(fmt.Errorf("%q is not the number of a process: want the number of a running \"stet mcp\", as \"stet approve\" lists it", arg))
		}
		pid = n
	}
	if c.cmd.Flags().Changed("root") {
		var err error
		if dir, err = c.workspaceDir(c.root); err != nil {
			return c.usage(err)
		}
	}
	state, err := c.stateDir()
	if err != nil {
		return err
	}
	signals := process.Notify(process.EndSignals)
	defer signal.Stop(signals)
	ctx, stop := process.UntilSignal(ctx, signals)
	defer stop()
	all := socket.Join(state, func(s socket.Server) bool { return (pid == 0 || s.PID == pid) && (dir == "" || s.Client.Root == dir) })
	joined, others, err := all.Look(ctx)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil && len(joined)+len(others) == 0:
		return err
	case err != nil:
		c.say("%v", err)
	}
	if pid != 0 && len(joined) == 0 {
		for _, s := range others {
			fmt.Fprintf(c.err, "%8d  %s\n", s.PID, s.Questions())
		}
		return fmt.Errorf("process %d does not ask here: choose one that is listed, or leave the number out", pid)
	}
	for _, s := range joined {
		c.say("approving for %s", s)
	}
	if len(joined) == 0 {
		c.say("no server is running yet: its questions are shown when an agent starts one")
	}
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { all.Run(ctx, pid == 0, func(err error) { all.Say(ctx, err.Error()) }) })
	d := c.dialog()
	d.Said = all.Said
	err = d.Approve(ctx, all)
	switch {
	case ctx.Err() != nil, errors.Is(err, terminal.ErrInterrupted):
		return nil // Ctrl-C is one way to leave
	case errors.Is(err, approval.ErrClosed):
		c.say("the server has ended")
		return nil
	case errors.Is(err, io.EOF) && isTerminal(c.in):
		return nil // Ctrl-D is another one
	case errors.Is(err, io.EOF):
		return errors.New("standard input has ended: no one can answer here, and the questions stay open")
	}
	return err
}
