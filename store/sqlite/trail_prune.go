package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/stet-dev/stet/store/rows"
)

// PruneTrail removes the oldest entries of the trail, and returns their number. before is the time limit: the first entry that is
// not older stays, and so do all entries after it. newest is the smallest number of entries that stay. The last entry always
// stays. An entry with a time in the future was written when the clock was wrong. Such an entry does not stop the removal. by
// names the person or the policy that wants the removal.
//
// The removed part is replaced by a checkpoint, record.PruneEntry. The chain continues from there. Before the removal the whole
// chain is checked: a broken trail is not pruned, because that would remove the evidence. If a suspension is still in force, its
// entry is written again, with its original time.
func (s *Store) PruneTrail(ctx context.Context, before time.Time, newest int, by string) (removed int, err error) {
	return rows.PruneTrail(ctx, s, func() (int, error) {
		_, n, err := rows.LastPruned(ctx, ask(s.db), before, newest)
		return n, s.explain("prune", err)
	}, func() (int, error) {
		n, err := s.pruneTrail(ctx, before, newest, by)
		return n, s.explain("prune", err)
	})
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
	last, removed, err := rows.LastPruned(ctx, ask(tx), before, newest)
	if err != nil || removed == 0 {
		return 0, err
	}
	found, err := tx.QueryContext(ctx, rows.SelectSuspended, int64(last.Seq))
	entries, err := collect(found, err, rows.Trail.Read)
	if err != nil {
		return 0, err
	}
	chained, err := extend(ctx, tx, append(entries, rows.Pruned(last, removed, by)))
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

// ask asks a database or a transaction.
func ask(q queryer) rows.Query {
	return func(ctx context.Context, statement string, args ...any) rows.Row {
		return q.QueryRowContext(ctx, statement, args...)
	}
}
