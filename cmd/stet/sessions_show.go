package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/session"
)

// sessionsListCommand is stet sessions list.
type sessionsListCommand struct {
	command
	dir  string
	last int
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
	f.IntVar(&c.last, "last", 20, "print the newest N sessions; 0 is all")
	f.BoolVar(&c.json, "json", false, "print JSON, an object a line")
	return cmd
}

func (c *sessionsListCommand) Run(ctx context.Context) error {
	if c.last < 0 {
		return c.usage(fmt.Errorf("--last: want a number of sessions, 0 is all, not %d", c.last))
	}
	q := session.Query{Limit: c.last}
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
		all, err := store.List(ctx, session.Query{})
		if err != nil {
			return err
		}
		report.Sessions(c.out, found, all)
		return nil
	})
}

// sessionsSearchCommand is stet sessions search.
type sessionsSearchCommand struct {
	command
	limit int
	json  bool
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
stet sessions search "exit status 1" --json`,
		Args: nArgs(1, -1, "the words to look for"),
	}, &c.command, c.Run)
	f := cmd.Flags()
	f.IntVar(&c.limit, "limit", 20, "print N messages at most; 0 is all")
	f.BoolVar(&c.json, "json", false, "print JSON, an object a line")
	return cmd
}

func (c *sessionsSearchCommand) Run(ctx context.Context) error {
	if c.limit < 0 {
		return c.usage(fmt.Errorf("--limit: want a number of messages, 0 is all, not %d", c.limit))
	}
	if strings.TrimSpace(strings.Join(c.args, "")) == "" {
		return c.usage(errors.New("name the words to look for"))
	}
	return c.withSessions(ctx, func(sessions session.Store) error {
		hits, err := sessions.Search(ctx, c.args, c.limit)
		switch {
		case err != nil:
			return err
		case c.json:
			return report.HitsJSON(c.out, hits, c.args)
		case len(hits) == 0:
			c.say("nothing found")
		}
		report.Hits(c.out, hits, c.args)
		return nil
	})
}

// sessionsShowCommand is stet sessions show.
type sessionsShowCommand struct {
	command
	json bool
}

func newSessionsShow(p *program) *cobra.Command {
	c := &sessionsShowCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "show SESSION",
		Short: "Show a session's conversation, with the numbers that rewind takes",
		Example: `stet sessions show latest
stet sessions show 0199 --json`,
		Args: nArgs(1, 1, "a session"),
	}, &c.command, c.Run)
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *sessionsShowCommand) Run(ctx context.Context) error {
	return c.withState(ctx, c.args[0], func(st session.State, _ []session.Event) error {
		if c.json {
			return report.SessionState(c.out, st)
		}
		return session.WriteMarkdown(c.out, st)
	})
}
