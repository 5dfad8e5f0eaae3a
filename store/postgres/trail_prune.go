package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stet-dev/stet/record"
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
		_, n, err := rows.LastPruned(ctx, ask(s.pool), before, newest)
		return n, s.explain("prune", err)
	}, func() (int, error) {
		n, err := s.pruneTrail(ctx, before, newest, by)
		return n, s.explain("prune", err)
	})
}

// pruneTrail is one step of PruneTrail: one transaction.
func (s *Store) pruneTrail(ctx context.Context, before time.Time, newest int, by string) (removed int, err error) {
	var end record.Link
	err = s.transact(ctx, func(tx pgx.Tx) error {
		head, err := lockHead(ctx, tx)
		if err != nil {
			return err
		}
		if err := s.whole(ctx, tx, head); err != nil {
			return err
		}
		var last record.Link
		if last, removed, err = rows.LastPruned(ctx, ask(tx), before, newest); err != nil || removed == 0 {
			return err
		}
		again, err := each(ctx, tx, rows.Trail.Read, rows.SelectSuspended, int64(last.Seq))
		if err != nil {
			return err
		}
		chained := record.Chain(head, append(again, rows.Pruned(last, removed, by)))
		end = chained[len(chained)-1].Link()
		if err := extend(ctx, tx, chained); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "DELETE FROM trail WHERE seq <= $1", int64(last.Seq))
		return err
	})
	if err != nil {
		return 0, err
	}
	s.guard.wrote(end)
	return removed, nil
}

// ask asks a database or a transaction.
func ask(q queryer) rows.Query {
	return func(ctx context.Context, statement string, args ...any) rows.Row {
		return q.QueryRow(ctx, numbered(statement), args...)
	}
}
