package toolset

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store"
)

// NewestEntries is the number of the trail's newest entries that are kept at any age, so that a clock that jumps forward does not
// empty the trail.
const NewestEntries = 10_000

// KeepTrail logs where the trail has lost entries. It prunes the trail now and once a day until ctx ends.
func KeepTrail(ctx context.Context, trail store.Store, days int, log *slog.Logger) {
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

// believeAfter is how long the clock must have shown a time before entries are pruned by it. Otherwise a clock that jumps ahead
// would make the whole trail old.
const believeAfter = 24 * time.Hour

// pruneTrail prunes by the newest entry that is at least a day old.
func pruneTrail(ctx context.Context, trail store.Store, days int) (removed int, err error) {
	newest, err := trail.Entries(ctx, record.TrailQuery{To: time.Now().Add(-believeAfter), Limit: 1, Last: true})
	if err != nil || len(newest) == 0 {
		return 0, err
	}
	return trail.PruneTrail(ctx, newest[0].Time.AddDate(0, 0, -days), NewestEntries, "policy audit-days")
}
