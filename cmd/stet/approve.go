package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/process"
	"github.com/stet-dev/stet/cmd/stet/internal/socket"
	"github.com/stet-dev/stet/cmd/stet/internal/terminal"
	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/workspace"
)

// approveCommand is stet approve.
type approveCommand struct {
	command
	root string
	wait bool

	pid int    // process of the server; 0: any
	dir string // workspace of the server; "": any
}

func newApprove(p *program) *cobra.Command {
	c := &approveCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "approve [PID]",
		Short: "Decide what an agent may write",
		Long: `Show what agents want to write, one question after the other, and take your
answers: approve it, for this session or a pattern of paths too, edit it first,
or reject it with words for the agent. It goes on until you quit, or the server
("stet mcp", or the proxy with "stet guard") ends. On a terminal each answer is one
key, and ? says what the keys do; otherwise each answer is a line.

Where several servers are running, the questions of all are shown. A number or --root
chooses one.`,
		Example: `# In a second terminal, next to the agent
stet approve

# Before the agent is started
stet approve --wait

# One of several
stet approve --root /home/me/project`,
		Args: atMostOneArg,
	}, &c.command, c.Run)
	cmd.Flags().StringVar(&c.root, "root", "", "answer the questions of the server with this workspace")
	cmd.Flags().BoolVar(&c.wait, "wait", false, "if no server is running, wait until one starts")
	return cmd
}

func (c *approveCommand) Run(ctx context.Context) error {
	if arg := c.arg(0); len(c.args) == 1 {
		n, err := strconv.Atoi(arg)
		if err != nil || n <= 0 {
			return c.usage(fmt.Errorf("%q is not the number of a process: want the number of a running \"stet mcp\", as \"stet approve\" lists it", arg))
		}
		c.pid = n
	}
	if c.cmd.Flags().Changed("root") {
		var err error
		if c.dir, err = c.workspaceDir(c.root); err != nil {
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
	servers, err := c.find(ctx, state)
	if err != nil {
		if ctx.Err() != nil {
			return nil // Ctrl-C during the wait
		}
		return err
	}
	defer closeAll(servers)
	for _, s := range servers {
		c.say("approving for %s (process %d)", named(s), s.PID)
	}
	if len(servers) == 1 {
		err = c.dialog().Approve(ctx, servers[0].Client)
	} else {
		err = c.approveAll(ctx, servers)
	}
	switch {
	case ctx.Err() != nil, errors.Is(err, terminal.ErrInterrupted):
		return nil // Ctrl-C is the usual way to leave
	case errors.Is(err, approval.ErrClosed):
		c.say("the server has ended")
		return nil
	case errors.Is(err, io.EOF) && isTerminal(c.in):
		return nil // Ctrl-D is the other one
	case errors.Is(err, io.EOF):
		return errors.New("standard input has ended: no one can answer here")
	}
	return err
}

// approveAll answers the questions of several servers, until all have ended.
func (c *approveCommand) approveAll(ctx context.Context, servers []socket.Server) error {
	ctx, stop := context.WithCancel(ctx)
	var mirrors, all sync.WaitGroup
	defer all.Wait()
	defer stop()
	joined := new(approval.Queue)
	questions := joined.Subscribe()
	defer questions.Close()
	for _, s := range servers {
		mirrors.Go(func() { _ = socket.Mirror(ctx, s.Client, joined) }) // its end is seen below
	}
	all.Go(func() {
		mirrors.Wait()
		_ = questions.Close() // all servers have ended
	})
	return c.dialog().Approve(ctx, questions)
}

// named names the questions of a server.
func named(s socket.Server) string {
	if s.Client.Root == "" {
		return "agents' own tools"
	}
	return workspace.Quote(s.Client.Root)
}

// find connects to the servers that the flags choose.
func (c *approveCommand) find(ctx context.Context, state string) ([]socket.Server, error) {
	for said := false; ; {
		all, err := socket.Dial(ctx, state)
		if err != nil && len(all) == 0 {
			return nil, err
		}
		if err != nil && !said {
			c.say("%v", err)
		}
		var meant, others []socket.Server
		for _, s := range all {
			if (c.pid == 0 || s.PID == c.pid) && (c.dir == "" || s.Client.Root == c.dir) {
				meant = append(meant, s)
			} else {
				others = append(others, s)
			}
		}
		closeAll(others)
		if len(meant) > 0 {
			return meant, nil
		}
		if !c.wait {
			if len(all) > 0 {
				c.list(all)
				return nil, errors.New("no such server is running: choose one of those that are listed")
			}
			return nil, errors.New("no server is running: an agent starts one (stet mcp); --wait waits for it")
		}
		if !said {
			c.say("no server is running yet; waiting (Ctrl-C ends)")
			said = true
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (c *approveCommand) list(all []socket.Server) {
	for _, s := range all {
		fmt.Fprintf(c.err, "%8d  %s\n", s.PID, named(s))
	}
}

func closeAll(all []socket.Server) {
	for _, s := range all {
		_ = s.Client.Close() // it returns no error
	}
}
