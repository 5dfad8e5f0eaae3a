package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/internal/config"
	"github.com/stet-dev/stet/internal/toolset"
	"github.com/stet-dev/stet/store/sqlite"
)

// auditAcceptCommand is stet audit accept.
type auditAcceptCommand struct{ command }

func newAuditAccept(p *program) *cobra.Command {
	c := &auditAcceptCommand{}
	return p.runs(&cobra.Command{
		Use:   "accept",
		Short: "Take note that the audit trail has lost entries, and let it go on",
		Long: `Take note that the audit trail has lost entries. stet knows the newest entry that
it wrote. When that is not in the trail any more, because the file was removed,
replaced, emptied or shortened, nothing is written to it, and the file tools do
nothing. This command writes an entry that says what is missing, and that you know
of it. After it the trail takes entries again. A server that was running when the
entries were lost must be started again.`,
		Example: `# What is missing?
stet audit --verify

# I know why
stet audit accept`,
		Args: noArgs,
	}, &c.command, c.Run)
}

func (c *auditAcceptCommand) Run(ctx context.Context) error {
	if _, err := c.stateDir(); err != nil {
		return err
	}
	trail, err := sqlite.Open(ctx, c.trailFile())
	if err != nil {
		return fmt.Errorf("audit trail: %w", err)
	}
	e, err := trail.AcceptLoss(ctx, "on the command line")
	switch {
	case err != nil:
	case e.Seq == 0:
		c.say("nothing is missing")
	case e.Intent == 0:
		c.say("noted in entry %d; a server that is running must be started again", e.Seq)
	default:
		c.say("noted in entry %d: the entries up to %d are gone; a server that is running must be started again", e.Seq, e.Intent)
	}
	return errors.Join(err, trail.Close())
}

// auditPruneCommand is stet audit prune.
type auditPruneCommand struct {
	command
	days int
}

func newAuditPrune(p *program) *cobra.Command {
	c := &auditPruneCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "prune [--days N]",
		Short: "Remove old entries from the audit trail",
		Long: fmt.Sprintf(`Remove the entries that are older than so many days. Servers do so by themselves
once a day ("audit-days" in your configuration, %d if it says nothing, 0 for ever).

That entries were removed is an entry too. It has the number and the hash of the last
one, and --verify follows the chain from there. A trail that is broken is not
pruned. The newest %d entries stay, and so do those of suspended sessions. Undo
needs %d days.`, config.DefaultAuditDays, toolset.NewestEntries, config.LeastAuditDays),
		Args: noArgs,
	}, &c.command, c.Run)
	cmd.Flags().IntVar(&c.days, "days", config.DefaultAuditDays, "entries that are older go")
	return cmd
}

func (c *auditPruneCommand) Run(ctx context.Context) error {
	if err := config.CheckAuditDays(c.days); err != nil || c.days == 0 {
		return c.usage(fmt.Errorf("--days: want %d or more, not %d: undo needs that much", config.LeastAuditDays, c.days))
	}
	return c.withTrail(ctx, func(trail *sqlite.Store) error {
		n, err := trail.PruneTrail(ctx, time.Now().AddDate(0, 0, -c.days), toolset.NewestEntries, "person on the command line")
		if err == nil {
			c.say("removed: %d", n)
		}
		return err
	})
}
