package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/approval"
	"github.com/stet-dev/stet/tui"
	"github.com/stet-dev/stet/workspace"
)

func (p *program) approveCommand() *cobra.Command {
	var root string
	var wait bool
	cmd := &cobra.Command{
		Use:   "approve [PID]",
		Short: "Decide what an agent may write",
		Long: `Show what agents want to write, one question after the other, and take your
answers: approve it, for this session or a pattern of paths too, edit it first,
or reject it with words for the agent. It goes on until you quit, or the server
("stet mcp") ends.

Where several servers are running they are listed; say which by its number or
by --root.`,
		Example: `# In a second terminal, beside the agent
stet approve

# Before the agent is started
stet approve --wait

# One of several
stet approve --root /home/me/project`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage(cmd, fmt.Errorf("unexpected argument %q", args[1]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			pid := 0
			if len(args) == 1 {
				n, err := strconv.Atoi(args[0])
				if err != nil || n <= 0 {
					return usage(cmd, fmt.Errorf("%q is no number of a process", args[0]))
				}
				pid = n
			}
			dir := ""
			if cmd.Flags().Changed("root") {
				var err error
				if dir, err = p.workspaceDir(root); err != nil {
					return usage(cmd, err)
				}
			}
			return p.runApprove(cmd, pid, dir, wait)
		},
	}
	cmd.Flags().StringVar(&root, "root", "", "the workspace of the server that is meant")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait for a server to start where none is running")
	return cmd
}

func (p *program) runApprove(cmd *cobra.Command, pid int, root string, wait bool) error {
	state, err := p.stateDir()
	if err != nil {
		return err
	}
	signals := notify(endSignals)
	defer signal.Stop(signals)
	ctx, stop := untilSignal(cmd.Context(), signals)
	defer stop()
	d, err := p.findDesk(cmd, ctx, state, pid, root, wait)
	if err != nil {
		if ctx.Err() != nil {
			return nil // Ctrl-C while it waited
		}
		return err
	}
	defer d.client.Close()
	p.say("approving for %s (process %d)", workspace.Quote(d.client.Root), d.pid)
	err = p.dialog().Approve(ctx, d.client)
	switch {
	case ctx.Err() != nil:
		return nil // Ctrl-C is how one leaves
	case errors.Is(err, approval.ErrClosed):
		p.say("the server has ended")
		return nil
	case errors.Is(err, io.EOF) && isTerminal(p.in):
		return nil // so is Ctrl-D
	case errors.Is(err, io.EOF):
		return errors.New("standard input has ended: nobody can answer here")
	}
	return err
}

// dialog is the dialog on the program's own streams.
func (p *program) dialog() *tui.Dialog {
	return &tui.Dialog{
		In: p.in, Out: p.out, Color: isTerminal(p.out) && p.getenv("NO_COLOR") == "",
		Editor: cmp.Or(p.getenv("VISUAL"), p.getenv("EDITOR")),
	}
}

// findDesk connects to the server that is meant.
func (p *program) findDesk(cmd *cobra.Command, ctx context.Context, state string, pid int, root string, wait bool) (desk, error) {
	for told := false; ; {
		all, err := desks(ctx, state)
		if err != nil && len(all) == 0 {
			return desk{}, err
		}
		if err != nil && !told {
			p.say("%v", err)
		}
		var meant, others []desk
		for _, d := range all {
			if (pid == 0 || d.pid == pid) && (root == "" || d.client.Root == root) {
				meant = append(meant, d)
			} else {
				others = append(others, d)
			}
		}
		if len(meant) == 1 {
			closeDesks(others)
			return meant[0], nil
		}
		defer closeDesks(all)
		if len(meant) > 1 {
			p.listDesks(meant)
			return desk{}, usage(cmd, errors.New("several servers are running: say which, by its number or by --root"))
		}
		if !wait {
			if len(all) > 0 {
				p.listDesks(all)
				return desk{}, errors.New("no such server is running")
			}
			return desk{}, errors.New("no server is running: an agent starts one (stet mcp); --wait waits for it")
		}
		if !told {
			p.say("no server is running yet; waiting (Ctrl-C ends)")
			told = true
		}
		select {
		case <-ctx.Done():
			return desk{}, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (p *program) listDesks(all []desk) {
	for _, d := range all {
		fmt.Fprintf(p.err, "%8d  %s\n", d.pid, workspace.Quote(d.client.Root))
	}
}
