package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/session"
)

// sessionsRewindCommand is stet sessions rewind.
type sessionsRewindCommand struct{ command }

func newSessionsRewind(p *program) *cobra.Command {
	c := &sessionsRewindCommand{}
	return p.runs(&cobra.Command{
		Use:   "rewind SESSION EVENT",
		Short: "Take a session back to an earlier event",
		Long: `Take a session back to what it was after EVENT, a number that "stet sessions show"
prints. Files that were written stay as they are; "stet undo" takes them back. Nothing is
deleted: you can go forward again in the same way.`,
		Example: `stet sessions rewind latest 12`,
		Args:    nArgs(2, 2, "a session and the number of an event"),
	}, &c.command, c.Run)
}

func (c *sessionsRewindCommand) Run(ctx context.Context) error {
	to, err := c.eventNumber(c.args[1])
	if err != nil {
		return err
	}
	return c.withSession(ctx, c.args[0], func(s *session.Session) error {
		last := s.State().Last
		if to >= last {
			return fmt.Errorf("session %s has %d events: there is nothing after event %d to take back", s.ID(), last, to)
		}
		if err := s.Rewind(ctx, to); err != nil {
			return err
		}
		c.say("session %s is now as it was after event %d; \"stet sessions rewind %s %d\" takes that back", s.ID(), to, s.ID(), last)
		return nil
	})
}

// sessionsForkCommand is stet sessions fork.
type sessionsForkCommand struct{ command }

func newSessionsFork(p *program) *cobra.Command {
	c := &sessionsForkCommand{}
	return p.runs(&cobra.Command{
		Use:   "fork SESSION [EVENT]",
		Short: "Copy a session up to an event into a new one",
		Long: `Begin a new session with the conversation of SESSION up to EVENT (without EVENT: all of
it), and print the new ID. SESSION stays as it is.`,
		Example: `stet sessions fork latest
stet sessions fork 0199 12`,
		Args: nArgs(1, 2, "a session"),
	}, &c.command, c.Run)
}

func (c *sessionsForkCommand) Run(ctx context.Context) (err error) {
	at := uint64(0)
	if len(c.args) == 2 {
		if at, err = c.eventNumber(c.args[1]); err != nil {
			return err
		}
	}
	return c.withSession(ctx, c.args[0], func(s *session.Session) error {
		fork, err := s.Fork(ctx, at)
		if err == nil {
			_, err = fmt.Fprintln(c.out, fork.ID())
		}
		return err
	})
}
