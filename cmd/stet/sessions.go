package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/localagent"
	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store"
)

func newSessions(p *program) *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "sessions COMMAND",
		Short: "List, search, show, export and rewind stored sessions",
		Long: `List, search, show and export the sessions that are stored on this machine, import
those of other agents, and take a session back to an earlier event. Nothing that is
stored is changed or deleted: going back is one more event.

SESSION is an ID, the beginning of one, or "latest".`,
		Example: `stet sessions list
stet sessions search retry budget
stet sessions show latest
stet sessions export latest --format markdown > talk.md
stet sessions import ~/.codex/sessions`,
	})
	cmd.AddCommand(newSessionsList(p), newSessionsSearch(p), newSessionsImport(p), newSessionsShow(p), newSessionsExport(p), newSessionsRewind(p))
	return cmd
}

// withSessions opens the store and passes it to fn. A missing store is an error, and is not made.
func (p *program) withSessions(ctx context.Context, fn func(session.Store) error) error {
	if where, err := p.storeThere(); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("no session is stored yet: there is no %s", where)
	}
	return p.makingSessions(ctx, fn)
}

// makingSessions is withSessions, but makes a missing store.
func (p *program) makingSessions(ctx context.Context, fn func(session.Store) error) error {
	where, err := p.store()
	if err != nil {
		return err
	}
	sessions, err := store.OpenSessions(ctx, where)
	if err != nil {
		return err
	}
	return errors.Join(fn(sessions), sessions.Close())
}

// withState passes the state and the events of a session to fn, and reports damage.
func (p *program) withState(ctx context.Context, name string, fn func(session.State, []session.Event) error) error {
	return p.withSessions(ctx, func(store session.Store) error {
		found, err := localagent.FindSession(ctx, store, name, "")
		if err != nil {
			return err
		}
		events, damaged, err := store.Events(ctx, found.ID, 0)
		if err != nil {
			return err
		}
		var f session.Fold
		f.Miss(damaged...)
		f.Add(events...)
		st := f.State()
		st.ID = found.ID
		for _, d := range st.Damaged {
			p.say("session %s: %s", st.ID, d)
		}
		return fn(st, events)
	})
}

// sessionsListCommand is stet sessions list.
type sessionsListCommand struct {
	command
	dir  string
	last uint32
	json bool
}

func newSessionsList(p *program) *cobra.Command {
	c := &sessionsListCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "list [flags]",
		Short: "List sessions, the one used last first",
		Example: `stet sessions list
stet sessions list --dir . --last 0 --json`,
		Args: noArgs,
	}, &c.command, c.Run)
	f := cmd.Flags()
	f.StringVar(&c.dir, "dir", "", "only sessions of this directory")
	f.Uint32Var(&c.last, "last", 20, "print the newest N sessions; 0 is all")
	f.BoolVar(&c.json, "json", false, "print JSON, an object a line")
	return cmd
}

func (c *sessionsListCommand) Run(ctx context.Context) error {
	q := session.Query{Limit: int(c.last)}
	if c.dir != "" {
		q.Dir = c.realPath(c.dir)
	}
	return c.withSessions(ctx, func(store session.Store) error {
		found, err := store.List(ctx, q)
		switch {
		case err != nil:
			return err
		case c.json:
			return report.SessionsJSON(c.out, found)
		case len(found) == 0:
			c.say("no session is stored")
		}
		report.Sessions(c.out, found)
		return nil
	})
}

// sessionsSearchCommand is stet sessions search.
type sessionsSearchCommand struct {
	command
	limit uint32
}

func newSessionsSearch(p *program) *cobra.Command {
	c := &sessionsSearchCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "search WORD...",
		Short: "Find messages that hold all the words, the newest first",
		Long: `Find messages that hold all the words. Case does not count, and a word may be a part of
a longer one. The search covers what was said, calls with their arguments, the first
16 KB of their results, and titles. Quote words that belong together.`,
		Example: `stet sessions search retry budget
stet sessions search "exit status 1"`,
		Args: nArgs(1, -1, "the words to look for"),
	}, &c.command, c.Run)
	cmd.Flags().Uint32Var(&c.limit, "limit", 20, "print N messages at most; 0 is all")
	return cmd
}

func (c *sessionsSearchCommand) Run(ctx context.Context) error {
	if strings.TrimSpace(strings.Join(c.args, "")) == "" {
		return c.usage(errors.New("name the words to look for"))
	}
	return c.withSessions(ctx, func(sessions session.Store) error {
		hits, err := sessions.Search(ctx, c.args, int(c.limit))
		switch {
		case err != nil:
			return err
		case len(hits) == 0:
			c.say("nothing found")
		}
		report.Hits(c.out, hits, c.args)
		return nil
	})
}

// sessionsShowCommand is stet sessions show.
type sessionsShowCommand struct{ command }

func newSessionsShow(p *program) *cobra.Command {
	c := &sessionsShowCommand{}
	return p.runs(&cobra.Command{
		Use: "show SESSION", Short: "Show a session's conversation, with the numbers that rewind takes", Example: "stet sessions show latest", Args: nArgs(1, 1, "a session"),
	}, &c.command, c.Run)
}

func (c *sessionsShowCommand) Run(ctx context.Context) error {
	return c.withState(ctx, c.args[0], func(st session.State, _ []session.Event) error { return session.WriteMarkdown(c.out, st) })
}

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
	to, err := strconv.ParseUint(c.args[1], 10, 64)
	if err != nil || to == 0 {
		return c.usage(fmt.Errorf("want the number of an event, as \"stet sessions show\" has it, not %q", c.args[1]))
	}
	return c.withSessions(ctx, func(store session.Store) error {
		found, err := localagent.FindSession(ctx, store, c.args[0], "")
		if err != nil {
			return err
		}
		s, err := session.Resume(ctx, store, found.ID)
		if err != nil {
			return err
		}
		for _, d := range s.State().Damaged {
			c.say("session %s: %s", s.ID(), d)
		}
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
