package main

import (
	"errors"
	"fmt"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/tui"
)

func (p *program) sessionsResumeCommand() *cobra.Command {
	var c chatFlags
	cmd := &cobra.Command{
		Use:   "resume SESSION [flags]",
		Short: "Go on with a session on this terminal",
		Long: `Go on with a session on this terminal, as "stet chat --resume" does, in the directory
that the session works in.`,
		Example: "stet sessions resume latest --model scripted",
		Args:    nArgs(1, 1, "a session"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, dir, err := p.openSession(cmd, args[0])
			if err != nil {
				return err
			}
			c.resume = id
			if !cmd.Flags().Changed("root") && dir != "" {
				c.root = dir
			}
			return p.runChat(cmd, c)
		},
	}
	addAgentFlags(cmd.Flags(), &c.agentFlags)
	addAllow(cmd.Flags(), &c.allowed)
	return cmd
}

func (p *program) sessionsCompactCommand() *cobra.Command {
	var a agentFlags
	var focus string
	cmd := &cobra.Command{
		Use:   "compact SESSION [flags]",
		Short: "Sum a session up, so that it goes on with an empty window",
		Long: `Have a model sum a session up. The summary begins a session of its own, whose ID is
printed and which "stet chat --continue" goes on with; the old one stays as it is,
and is closed.`,
		Example: `stet sessions compact latest --focus "what is left to do"`,
		Args:    nArgs(1, 1, "a session"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			id, dir, err := p.openSession(cmd, args[0])
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("root") && dir != "" {
				a.root = dir
			}
			defer outliveReader()()
			signals := notify(endSignals)
			defer signal.Stop(signals)
			ctx, stop := lastCall(cmd.Context(), signals)
			defer stop()
			h, err := p.openHouse(ctx, cmd, a)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, h.close()) }()
			talk, err := h.resume(ctx, id)
			if err != nil {
				return err
			}
			if err := talk.Compact(ctx, focus, (&tui.Lines{Out: p.err, Err: p.err}).Tell); err != nil {
				return err
			}
			_, err = fmt.Fprintln(p.out, talk.ID())
			return err
		},
	}
	addAgentFlags(cmd.Flags(), &a)
	cmd.Flags().StringVar(&focus, "focus", "", "what the summary should keep above all")
	return cmd
}

// openSession finds a session, and the directory that it works in.
func (p *program) openSession(cmd *cobra.Command, name string) (id, dir string, err error) {
	err = p.withSessions(cmd.Context(), func(store session.Store) error {
		found, err := findSession(cmd.Context(), store, name)
		id, dir = found.ID, found.Dir
		return err
	})
	return id, dir, err
}
