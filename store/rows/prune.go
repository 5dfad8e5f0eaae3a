package rows

import (
	"context"
	"fmt"
	"time"

	"github.com/stet-dev/stet/record"
)

// PruneStep is the maximum number of entries that one transaction removes. Other writers wait for this transaction.
const PruneStep = 10_000

// Query asks for one row. The statement has a question mark for each of args.
type Query func(ctx context.Context, statement string, args ...any) Row

// PruneTrail is the part of a store's PruneTrail that both databases share. due returns how many entries the first step would remove.
// Each call of step removes entries and returns their number. Before the first removal the whole chain is checked. A broken trail is
// not pruned, because that would remove the evidence.
func PruneTrail(ctx context.Context, trail record.Trail, due, step func() (int, error)) (removed int, err error) {
	if n, err := due(); err != nil || n == 0 {
		return 0, err
	}
	v, err := record.Verify(ctx, trail)
	if err != nil {
		return 0, err
	}
	if v.Broken != nil {
		return 0, fmt.Errorf("the trail is broken at entry %d, and is not pruned: %s", v.Broken.Seq, v.Broken.Why)
	}
	for {
		n, err := step()
		removed += n
		if err != nil || n < PruneStep {
			return removed, err
		}
	}
}

// LastPruned returns the newest entry that one step may remove, and how many entries the step removes. The first entry that is
// not older than before stays, and so do all after it, at least newest entries, and the end of the chain.
func LastPruned(ctx context.Context, ask Query, before time.Time, newest int) (last record.Link, removed int, err error) {
	var first, end, kept uint64 // the oldest entry, the newest entry, and the oldest entry that is not too old
	err = ask(ctx, `SELECT coalesce(min(seq), 1), coalesce(max(seq), 0),
		coalesce((SELECT seq FROM trail WHERE time_us BETWEEN ? AND ? ORDER BY seq LIMIT 1), coalesce(max(seq), 0) + 1) FROM trail`,
		CeilMicro(before), time.Now().UnixMicro()).Scan(&first, &end, &kept)
	if err != nil {
		return last, 0, err
	}
	stay := uint64(max(newest, 1))
	if end < stay {
		return last, 0, nil
	}
	last.Seq = min(kept-1, end-stay, first+PruneStep-1)
	if last.Seq < first {
		return last, 0, nil
	}
	err = ask(ctx, "SELECT hash FROM trail WHERE seq = ?", int64(last.Seq)).Scan(&last.Hash)
	return last, int(last.Seq - first + 1), err
}

// Pruned returns the checkpoint that takes the place of removed entries, up to last.
func Pruned(last record.Link, removed int, by string) record.Entry {
	e := record.PruneEntry(last, removed, by)
	e.Time = time.Now()
	return e
}

// SelectSuspended selects the entries up to a number that suspend a session until now. They are written again when the trail is
// pruned.
var SelectSuspended = "SELECT " + Trail.Columns + ` FROM trail AS t WHERE kind = 'suspend' AND seq <= ?
	AND NOT EXISTS (SELECT 1 FROM trail WHERE session = t.session AND kind IN ('suspend', 'resume') AND seq > t.seq) ORDER BY seq`
