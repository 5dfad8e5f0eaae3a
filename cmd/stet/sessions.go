package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/localagent"
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
stet sessions export latest --format markdown --output talk.md
stet sessions import ~/.codex/sessions`,
	})
	cmd.AddCommand(newSessionsList(p), newSessionsSearch(p), newSessionsImport(p))
	for _, one := range []*cobra.Command{
		newSessionsShow(p), newSessionsExport(p), newSessionsRewind(p), newSessionsFork(p), newSessionsResume(p), newSessionsCompact(p),
	} {
		cmd.AddCommand(completes(one, p.storedSessions))
	}
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

// eventNumber parses the number of an event.
func (c *command) eventNumber(arg string) (uint64, error) {
	n, err := strconv.ParseUint(arg, 10, 64)
	if err != nil || n == 0 {
		return 0, c.usage(fmt.Errorf("want the number of an event, as \"stet sessions show\" has it, not %q", arg))
	}
	return n, nil
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

// withSession resumes a session and passes it to fn.
func (p *program) withSession(ctx context.Context, name string, fn func(*session.Session) error) error {
	return p.withSessions(ctx, func(store session.Store) error {
		found, err := localagent.FindSession(ctx, store, name, "")
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
