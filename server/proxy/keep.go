package proxy

import (
	"context"
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy/cachestate"
)

// Keep limits how much is recorded. Old rows are removed when the first row is written, and then every six hours.
type Keep struct {
	For      time.Duration // 0 is 180 days; negative: for ever
	Requests int           // the newest; 0 is 500,000; negative: all
}

func (k Keep) limits(now time.Time) record.Limits {
	if k.For == 0 {
		k.For = 180 * 24 * time.Hour
	}
	if k.Requests == 0 {
		k.Requests = 500_000
	}
	l := record.Limits{Requests: max(0, k.Requests), Turns: cachestate.MaxTurns, FormBytes: maxFormBytes}
	if k.For > 0 {
		l.Since = now.Add(-k.For)
	}
	return l
}

// maxFormBytes limits the bytes of stored sent edits. A request of a long session takes some hundred bytes, so there is room for
// about a million requests, that is, for months.
const maxFormBytes = 256 << 20

// believeAfter is how long ago a time must have been seen before old rows are removed by it.
// So a clock that jumps ahead does not empty the store.
const believeAfter = 24 * time.Hour

// believed returns the time of the newest row that is at least believeAfter old. Without such a row it returns the zero time, by
// which nothing is too old.
func believed(ctx context.Context, store record.Store) (time.Time, error) {
	newest, err := store.Requests(ctx, record.Query{To: time.Now().Add(-believeAfter), Limit: 1})
	if err != nil || len(newest) == 0 {
		return time.Time{}, err
	}
	return newest[0].Time, nil
}
