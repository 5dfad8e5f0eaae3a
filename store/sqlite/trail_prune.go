package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/rows"
)

// pruneStep is the maximum number of entries that one transaction removes. Other writers wait for this transaction.
const pruneStep = 10_000

// PruneTrail removes the oldest entries of the trail, and returns their number. before is the time limit: the first entry that is
// not older stays, and so do all entries after it. newest is the smallest number of entries that stay. The last entry always
// stays. An entry with a time in the future was written when the clock was wrong. Such an entry does not stop the removal. by
// names the person or the policy that wants the removal.
//
// The removed part is replaced by a checkpoint, record.PruneEntry. The chain continues from there. Before the removal the whole
// chain is checked: a broken trail is not pruned, because that would remove the evidence. If a suspension is still in force, its
// entry is written again, with its original time.
func (s *Store) PruneTrail(ctx context.Context, before time.Time, newest int, by string) (removed int, err error) {
	if _, due, err := lastPruned(ctx, s.db, before, newest); err != nil || due == 0 {
		return 0, s.explain("prune", err)
	}
	v, err := record.Verify(ctx, s)
	if err != nil {
		return 0, err
	}
	if v.Broken != nil {
		return 0, fmt.Errorf("the trail is broken at entry %d, and is not pruned: %s", v.Broken.Seq, v.Broken.Why)
	}
	for {
		n, err := s.pruneTrail(ctx, before, newest, by)
		removed += n
		if err != nil || n < pruneStep {
			return removed, s.explain("prune", err)
		}
	}
}

// pruneTrail is one step of PruneTrail: one transaction.
func (s *Store) pruneTrail(ctx context.Context, before time.Time, newest int, by string) (removed int, err error) {
	if err := errors.Join(s.guard.files(), s.guard.writable()); err != nil {
		return 0, err
	}
	tx, err := s.synced.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }() // fails after a commit, which is not an error
	if err := s.whole(ctx, tx); err != nil {
		return 0, err
	}
	last, removed, err := lastPruned(ctx, tx, before, newest)
	if err != nil || removed == 0 {
		return 0, err
	}
	entries, err := stillSuspended(ctx, tx, last.Seq)
	if err != nil {
		return 0, err
	}
	e := record.PruneEntry(last, removed, by)
	e.Time = time.Now()
	chained, err := extend(ctx, tx, append(entries, e))
	if err != nil {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM trail WHERE seq <= ?", int64(last.Seq)); err != nil {
		return 0, err
	}
	if err := tx.Commit(); err != nil {
		return 0, err
	}
	return removed, s.guard.wrote(chained[len(chained)-1].Link(), true)
}

// lastPruned returns the newest entry that one step may remove, and how many entries the step removes.
func lastPruned(ctx context.Context, q queryer, before time.Time, newest int) (last record.Link, removed int, err error) {
	var first, end, kept uint64 // the oldest entry, the newest entry, and the oldest entry that is not too old
	err = q.QueryRowContext(ctx, `SELECT coalesce(min(seq), 1), coalesce(max(seq), 0),
		coalesce((SELECT seq FROM trail WHERE time_us BETWEEN ? AND ? ORDER BY seq LIMIT 1), coalesce(max(seq), 0) + 1) FROM trail`,
		rows.CeilMicro(before), time.Now().UnixMicro()).Scan(&first, &end, &kept)
	if err != nil {
		return last, 0, err
	}
	stay := uint64(max(newest, 1)) // the end of the chain is never removed
	if end < stay {
		return last, 0, nil
	}
	last.Seq = min(kept-1, end-stay, first+pruneStep-1)
	if last.Seq < first {
		return last, 0, nil
	}
	err = q.QueryRowContext(ctx, "SELECT hash FROM trail WHERE seq = ?", int64(last.Seq)).Scan(&last.Hash)
	return last, int(last.Seq - first + 1), err
}

// stillSuspended returns the entries, up to the number last, of suspensions that are still in force. The caller writes them
// again.
func stillSuspended(ctx context.Context, tx *sql.Tx, last uint64) ([]record.Entry, error) {
	found, err := tx.QueryContext(ctx, "SELECT "+rows.TrailColumns+` FROM trail AS t WHERE kind = 'suspend' AND seq <= ?
		AND NOT EXISTS (SELECT 1 FROM trail WHERE session = t.session AND kind IN ('suspend', 'resume') AND seq > t.seq) ORDER BY seq`,
		int64(last))
	return collect(found, err, rows.ScanEntry)
}
