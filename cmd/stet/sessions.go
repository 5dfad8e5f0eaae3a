package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/sqlite"
	"github.com/stet-dev/stet/workspace"
)

func (p *program) sessionsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions COMMAND",
		Short: "Look at stored sessions, and take them elsewhere",
		Long: `List, search, show and export the sessions that are stored on this machine, bring in
those of other agents, and go back in one. Nothing that is stored is ever changed
or deleted: going back is one more event.

A session is named by its ID, by the beginning of one, or by "latest".`,
		Example: `stet sessions list
stet sessions search retry budget
stet sessions show latest
stet sessions export latest --format markdown --output talk.md
stet sessions import ~/.codex/sessions`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(cmd, args[0])
		},
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(p.sessionsListCommand(), p.sessionsSearchCommand(), p.sessionsShowCommand(), p.sessionsExportCommand(),
		p.sessionsImportCommand(), p.sessionsRewindCommand(), p.sessionsForkCommand(), p.sessionsResumeCommand(), p.sessionsCompactCommand())
	for _, sub := range cmd.Commands() {
		sub.Example = indented(sub.Example)
	}
	return cmd
}

// withSessions opens the store and hands it to fn. Where there is none, none is
// made, and that is an error.
func (p *program) withSessions(ctx context.Context, fn func(session.Store) error) error {
	if _, err := p.stateDir(); err != nil {
		return err
	}
	if _, err := os.Stat(p.trailFile()); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("no session is stored yet: there is no %s", p.trailFile())
	}
	return p.makingSessions(ctx, fn)
}

// makingSessions is withSessions that makes the store if there is none.
func (p *program) makingSessions(ctx context.Context, fn func(session.Store) error) error {
	if _, err := p.stateDir(); err != nil {
		return err
	}
	store, err := sqlite.OpenSessions(ctx, p.trailFile())
	if err != nil {
		return err
	}
	return errors.Join(fn(store), store.Close())
}

// findSession returns the session that an argument names.
func findSession(ctx context.Context, store session.Store, name string) (session.Info, error) {
	if name == "latest" {
		return session.Latest(ctx, store, "")
	}
	found, err := session.Find(ctx, store, name)
	if errors.Is(err, session.ErrNotFound) {
		return found, fmt.Errorf("%s: no session is called so; \"stet sessions list\" lists them", workspace.Quote(name))
	}
	return found, err
}

// nArgs wants from least to most arguments, and says which are missing.
func nArgs(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usage(cmd, fmt.Errorf("name %s", what))
		case most >= 0 && len(args) > most:
			return usage(cmd, fmt.Errorf("unexpected argument %q", args[most]))
		}
		return nil
	}
}

// eventNumber reads the number of an event.
func eventNumber(cmd *cobra.Command, arg string) (uint64, error) {
	n, err := strconv.ParseUint(arg, 10, 64)
	if err != nil || n == 0 {
		return 0, usage(cmd, fmt.Errorf("want the number of an event, as \"stet sessions show\" has it, not %q", arg))
	}
	return n, nil
}

func (p *program) sessionsListCommand() *cobra.Command {
	var dir string
	var last int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "List sessions, the one used last first",
		Example: `stet sessions list
stet sessions list --dir . --last 0 --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if last < 0 {
				return usage(cmd, fmt.Errorf("--last: want a number of sessions, 0 is all, not %d", last))
			}
			q := session.Query{Limit: last}
			if dir != "" {
				q.Dir = p.realPath(dir)
			}
			return p.withSessions(cmd.Context(), func(store session.Store) error {
				found, err := store.List(cmd.Context(), q)
				if err != nil {
					return err
				}
				return p.printSessions(found, asJSON)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&dir, "dir", "", "only those of this workspace")
	f.IntVar(&last, "last", 20, "so many sessions, the newest; 0 is all")
	f.BoolVar(&asJSON, "json", false, "print JSON, an object a line")
	return cmd
}

func (p *program) printSessions(found []session.Info, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(p.out)
		for _, i := range found {
			if err := enc.Encode(jsonInfoOf(i)); err != nil {
				return err
			}
		}
		return nil
	}
	if len(found) == 0 {
		p.say("no session is stored")
		return nil
	}
	for _, i := range found {
		note := ""
		switch {
		case i.Next != "":
			note = ", compacted"
		case i.From.Relation == session.Started:
			note = ", of a sub-agent"
		}
		fmt.Fprintf(p.out, "%s  %s  %s%s\n", i.ID, i.Updated.Local().Format(time.DateTime), count(i.Count, "message"), note)
		fmt.Fprintf(p.out, "    %s", workspace.Quote(headline(i)))
		if i.Dir != "" {
			fmt.Fprintf(p.out, " in %s", workspace.Quote(i.Dir))
		}
		fmt.Fprintln(p.out)
	}
	return nil
}

// headline is what a person knows a session by.
func headline(i session.Info) string {
	const most = 100
	s := i.Title
	if s == "" {
		s = i.First
	}
	if s == "" {
		return "(nothing said)"
	}
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// jsonInfo is a session in JSON.
type jsonInfo struct {
	ID       string    `json:"id"`
	Dir      string    `json:"dir,omitempty"`
	Title    string    `json:"title,omitempty"`
	First    string    `json:"first,omitempty"`
	Model    string    `json:"model,omitempty"`
	Source   string    `json:"source,omitempty"`
	From     string    `json:"from,omitempty"`
	FromSeq  uint64    `json:"from_event,omitempty"`
	Relation string    `json:"relation,omitempty"`
	Next     string    `json:"next,omitempty"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
	Events   uint64    `json:"events"`
	Messages int       `json:"messages"`
}

func jsonInfoOf(i session.Info) jsonInfo {
	return jsonInfo{
		i.ID, i.Dir, i.Title, i.First, i.Model, i.Source, i.From.Session, i.From.Seq, string(i.From.Relation), i.Next,
		i.Created, i.Updated, i.Last, i.Count,
	}
}
