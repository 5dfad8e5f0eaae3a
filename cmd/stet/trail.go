package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/internal/config"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/sqlite"
)

// newestEntries of the audit trail stay whatever their age, so that a clock that
// jumps forward does not empty the trail.
const newestEntries = 10_000

// keepTrail says where the trail has lost entries, and prunes it, now and once a
// day until ctx ends.
func keepTrail(ctx context.Context, trail *sqlite.Store, days int, log *slog.Logger) {
	if err := trail.CheckTrail(ctx); err != nil && ctx.Err() == nil {
		log.Error("audit trail", "err", err)
	}
	daily := time.NewTicker(24 * time.Hour)
	defer daily.Stop()
	for days > 0 {
		n, err := pruneTrail(ctx, trail, days)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !errors.Is(err, record.ErrLost):
			log.Error("audit trail: old entries stay", "err", err)
		case n > 0:
			log.Info("audit trail: old entries are gone", "entries", n)
		}
		select {
		case <-daily.C:
		case <-ctx.Done():
			return
		}
	}
}

// believeAfter is how long the clock must have shown a time before entries are
// removed by it: one that jumps ahead must not make the whole trail old.
const believeAfter = 24 * time.Hour

// pruneTrail prunes by the newest time that an entry has shown a day ago.
func pruneTrail(ctx context.Context, trail *sqlite.Store, days int) (removed int, err error) {
	newest, err := trail.Entries(ctx, record.TrailQuery{To: time.Now().Add(-believeAfter), Limit: 1, Last: true})
	if err != nil || len(newest) == 0 {
		return 0, err
	}
	return trail.PruneTrail(ctx, newest[0].Time.AddDate(0, 0, -days), newestEntries, "policy audit-days")
}

// openTrail opens the audit trail. Where there is none, none is made.
func (p *program) openTrail(ctx context.Context) (*sqlite.Store, error) {
	if _, err := p.stateDir(); err != nil {
		return nil, err
	}
	file := p.trailFile()
	if _, err := os.Stat(file); err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("audit trail: %w", err)
		}
		if anchor := sqlite.AnchorFile(file); isThere(anchor) {
			return nil, fmt.Errorf("the audit trail is gone: there is no %s, and %s says that there was one; "+
				"\"stet audit accept\" takes note of that, and begins another", file, filepath.Base(anchor))
		}
		return nil, fmt.Errorf("nothing is recorded yet: there is no %s", file)
	}
	trail, err := sqlite.Open(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("audit trail: %w", err)
	}
	return trail, nil
}

func isThere(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Size() > 0
}

func (p *program) auditAcceptCommand() *cobra.Command {
	return &cobra.Command{
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
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := p.stateDir(); err != nil {
				return err
			}
			trail, err := sqlite.Open(cmd.Context(), p.trailFile())
			if err != nil {
				return fmt.Errorf("audit trail: %w", err)
			}
			e, err := trail.AcceptLoss(cmd.Context(), "on the command line")
			switch {
			case err != nil:
			case e.Seq == 0:
				p.say("nothing is missing")
			case e.Intent == 0:
				p.say("noted in entry %d; a server that is running must be started again", e.Seq)
			default:
				p.say("noted in entry %d: the entries up to %d are gone; a server that is running must be started again", e.Seq, e.Intent)
			}
			return errors.Join(err, trail.Close())
		},
	}
}

func (p *program) auditPruneCommand() *cobra.Command {
	var days int
	cmd := &cobra.Command{
		Use:   "prune [--days N]",
		Short: "Remove old entries from the audit trail",
		Long: fmt.Sprintf(`Remove the entries that are older than so many days. Servers do so by themselves
once a day ("audit-days" in your configuration, %d if it says nothing, 0 for ever).

That entries were removed is an entry too. It has the number and the hash of the last
one, and --verify follows the chain from there. A trail that is broken is not
pruned. The newest %d entries stay, and so do those of suspended sessions. Undo
needs %d days.`, config.DefaultAuditDays, newestEntries, config.LeastAuditDays),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := config.CheckAuditDays(days); err != nil || days == 0 {
				return usage(cmd, fmt.Errorf("--days: want %d or more, not %d: undo needs that much", config.LeastAuditDays, days))
			}
			trail, err := p.openTrail(cmd.Context())
			if err != nil {
				return err
			}
			n, err := trail.PruneTrail(cmd.Context(), time.Now().AddDate(0, 0, -days), newestEntries, "person on the command line")
			if err == nil {
				p.say("removed: %d", n)
			}
			return errors.Join(err, trail.Close())
		},
	}
	cmd.Flags().IntVar(&days, "days", config.DefaultAuditDays, "entries that are older go")
	return cmd
}
