package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

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

// withTrail opens the audit trail for do.
func (p *program) withTrail(ctx context.Context, do func(*sqlite.Store) error) error {
	trail, err := p.openTrail(ctx)
	if err != nil {
		return err
	}
	return errors.Join(do(trail), trail.Close())
}

func isThere(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Size() > 0
}
