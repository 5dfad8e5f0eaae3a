package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/session"
)

func (p *program) sessionsRewindCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rewind SESSION EVENT",
		Short: "Go back to what a session was after an event",
		Long: `Go back to what a session was after an event, whose number "stet sessions show" has.
The files that were written stay as they are; "stet undo" takes them back. Nothing is
deleted: what was rewound can itself be gone back to.`,
		Example: `stet sessions rewind latest 12`,
		Args:    nArgs(2, 2, "a session and the number of an event"),
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := eventNumber(cmd, args[1])
			if err != nil {
				return err
			}
			return p.withSession(cmd.Context(), args[0], func(s *session.Session) error {
				last := s.State().Last
				if to >= last {
					return fmt.Errorf("session %s has %d events: there is nothing after event %d to go back over", s.ID(), last, to)
				}
				if err := s.Rewind(cmd.Context(), to); err != nil {
					return err
				}
				p.say("session %s is what it was after event %d; \"stet sessions rewind %s %d\" takes that back", s.ID(), to, s.ID(), last)
				return nil
			})
		},
	}
}

func (p *program) sessionsForkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "fork SESSION [EVENT]",
		Short: "Begin a session that goes another way after an event",
		Long: `Begin a session with the conversation of another one as it was after an event (the
newest, if none is named), and print its ID. The other session stays as it is.`,
		Example: `stet sessions fork latest
stet sessions fork 0199 12`,
		Args: nArgs(1, 2, "a session"),
		RunE: func(cmd *cobra.Command, args []string) error {
			at := uint64(0)
			if len(args) == 2 {
				var err error
				if at, err = eventNumber(cmd, args[1]); err != nil {
					return err
				}
			}
			return p.withSession(cmd.Context(), args[0], func(s *session.Session) error {
				fork, err := s.Fork(cmd.Context(), at)
				if err == nil {
					_, err = fmt.Fprintln(p.out, fork.ID())
				}
				return err
			})
		},
	}
}

// withSession resumes a session and hands it to fn.
func (p *program) withSession(ctx context.Context, name string, fn func(*session.Session) error) error {
	return p.withSessions(ctx, func(store session.Store) error {
		found, err := findSession(ctx, store, name)
		if err != nil {
			return err
		}
		s, err := session.Resume(ctx, store, found.ID)
		if err != nil {
			return err
		}
		for _, d := range s.State().Damaged {
			p.say("session %s: %s", s.ID(), d)
		}
		return fn(s)
	})
}
