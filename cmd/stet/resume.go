package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store"
)

// resumeCommand is stet resume.
type resumeCommand struct{ command }

func newResume(p *program) *cobra.Command {
	c := &resumeCommand{}
	return p.runs(&cobra.Command{
		Use:   "resume [SESSION]",
		Short: "Let a suspended session continue",
		Long: `Let a session continue that was suspended because it kept trying to leave its
workspace (suspicion = "suspend" or "roll back" in your configuration). The audit trail
shows what it did; look there first. Your decision is recorded too.

Without an argument, list the suspended sessions. If the server of a session has ended,
there is nothing to resume: the next session has another name.`,
		Example: `# Which sessions are suspended, and why?
stet resume

# What did this one try?
stet audit --session stdio-7F2KQXNA

# Let it go on
stet resume stdio-7F2KQXNA`,
		Args: atMostOneArg,
	}, &c.command, c.Run)
}

func (c *resumeCommand) Run(ctx context.Context) error {
	return c.withTrail(ctx, func(trail store.Store) error {
		left, err := record.Suspended(ctx, trail)
		if err != nil {
			return err
		}
		if len(c.args) == 0 {
			c.list(left)
			return nil
		}
		return c.resume(ctx, trail, left, c.args[0])
	})
}

// list prints the suspended sessions.
func (c *resumeCommand) list(left []record.Entry) {
	if len(left) == 0 {
		c.say("no session is suspended")
	}
	for _, e := range left {
		fmt.Fprintf(c.out, "%s  session %s, %s, in %s [%s]\n", e.Time.Local().Format(time.DateTime), workspace.Quote(e.Session),
			workspace.Quote(e.Client), workspace.Quote(e.Root), workspace.Quote(strings.Join(e.Flags, ", ")))
	}
}

// resume resumes a session in any process; left are the suspended ones.
func (c *resumeCommand) resume(ctx context.Context, trail record.Trail, left []record.Entry, session string) error {
	for _, e := range left {
		if e.Session != session {
			continue
		}
		h := &approval.Handler{Journal: &record.Journal{Trail: trail}, Root: e.Root}
		err := h.Resume(ctx, session, approval.LocalPerson())
		if err = errors.Join(err, h.Journal.Close()); err == nil {
			c.say("session %s may continue in %s", workspace.Quote(session), workspace.Quote(e.Root))
		}
		return err
	}
	known, err := trail.Entries(ctx, record.TrailQuery{Session: session, Limit: 1})
	switch {
	case err != nil:
		return err
	case session == "" || len(known) == 0:
		return fmt.Errorf("%q: there is no such session; \"stet resume\" lists those that are suspended", session)
	}
	return fmt.Errorf("%s: this session is not suspended", workspace.Quote(session))
}
