package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/toolset"
	"github.com/stet-dev/stet/store"
)

// auditAcceptCommand is stet audit accept.
type auditAcceptCommand struct{ command }

func newAuditAccept(p *program) *cobra.Command {
	c := &auditAcceptCommand{}
	return p.runs(&cobra.Command{
		Use:   "accept",
		Short: "Acknowledge that the audit trail has lost entries",
		Long: `Acknowledge that the audit trail has lost entries. stet knows the newest entry that it
wrote. If that entry is missing, because the file was removed, replaced, emptied or
shortened, stet writes nothing more to the trail, and the file tools refuse every call.
This command adds an entry that says what is missing, and that you know it. After that
the trail takes entries again. Restart servers that ran when the entries were lost.`,
		Example: `# What is missing?
stet audit --verify

# I know why
stet audit accept`,
		Args: noArgs,
	}, &c.command, c.Run)
}

func (c *auditAcceptCommand) Run(ctx context.Context) error {
	where, err := c.store()
	if err != nil {
		return err
	}
	trail, err := store.Open(ctx, where)
	if err != nil {
		return fmt.Errorf("audit trail: %w", err)
	}
	e, err := trail.AcceptLoss(ctx, "on the command line")
	switch {
	case err != nil:
	case e.Seq == 0:
		c.say("nothing is missing")
	case e.Intent == 0:
		c.say("noted in entry %d; restart servers that are running", e.Seq)
	default:
		c.say("noted in entry %d: the entries up to %d are gone; restart servers that are running", e.Seq, e.Intent)
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
		Long: fmt.Sprintf(`Remove old entries. Servers do this once a day: the key "audit-days" of your
configuration says how old entries may be (default %d days; 0 keeps them for ever).

The removal is an entry too. It has the number and the hash of the last entry that was
removed, and --verify follows the chain from there. A broken trail is not pruned. The
newest %d entries stay, and so do those of suspended sessions. Undo needs %d days.`, config.DefaultAuditDays, toolset.NewestEntries, config.LeastAuditDays),
		Args: noArgs,
	}, &c.command, c.Run)
	cmd.Flags().IntVar(&c.days, "days", config.DefaultAuditDays, "remove entries that are older than N days")
	return cmd
}

func (c *auditPruneCommand) Run(ctx context.Context) error {
	if err := config.CheckAuditDays(c.days); err != nil || c.days == 0 {
		return c.usage(fmt.Errorf("--days: want %d or more, not %d: undo needs that much", config.LeastAuditDays, c.days))
	}
	settings, err := c.userSettings()
	if err != nil {
		return err
	}
	if c.days <= settings.KeptDays {
		return c.usage(fmt.Errorf("--days: want more than %d, not %d: kept-days is %d, and undo needs the trail for longer", settings.KeptDays, c.days, settings.KeptDays))
	}
	return c.withTrail(ctx, func(trail store.Store) error {
		n, err := trail.PruneTrail(ctx, time.Now().AddDate(0, 0, -c.days), toolset.NewestEntries, "person on the command line")
		if err == nil {
			c.say("removed: %d", n)
		}
		return err
	})
}
