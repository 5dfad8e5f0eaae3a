package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/rows"
)

// pruneLock is the advisory lock that pruning holds exclusively: "prun" in ASCII.
const pruneLock = 0x7072756e

// Prune implements record.Store. It is one transaction.
func (s *Store) Prune(ctx context.Context, l record.Limits) (removed int, err error) {
	err = s.transact(ctx, func(tx pgx.Tx) error {
		removed, err = prune(ctx, tx, l)
		return err
	})
	if err != nil {
		removed = 0
	}
	return removed, s.explain("prune", err)
}

func prune(ctx context.Context, tx pgx.Tx, l record.Limits) (removed int, err error) {
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", pruneLock); err != nil {
		return 0, err
	}
	var since int64
	if !l.Since.IsZero() {
		since = rows.CeilMicro(l.Since)
	}
	first := since // time of the oldest request that stays
	if l.Requests > 0 {
		err := tx.QueryRow(ctx, `SELECT coalesce(max(time_us), $1) FROM (
			SELECT time_us FROM requests ORDER BY time_us DESC, seq DESC LIMIT 1 OFFSET $2) AS oldest`, since, l.Requests-1).Scan(&first)
		if err != nil {
			return 0, err
		}
		first = max(first, since)
	}
	gone, err := tx.Exec(ctx, "DELETE FROM requests WHERE time_us < $1", first)
	if err != nil {
		return 0, err
	}
	var b pgx.Batch
	b.Queue("DELETE FROM trims WHERE time_us < $1", first)
	b.Queue("DELETE FROM turns WHERE time_us < $1", since)
	for _, cold := range []bool{false, true} {
		if l.Turns > 0 {
			b.Queue(`DELETE FROM turns WHERE prefix IN (
				SELECT prefix FROM turns WHERE (moment <> '') = $1 ORDER BY time_us DESC OFFSET $2)`, cold, l.Turns)
		}
	}
	b.Queue("DELETE FROM sent_places WHERE time_us < $1", since)
	if l.FormBytes > 0 {
		b.Queue(`DELETE FROM sent_places WHERE (place, form) IN (SELECT place, form FROM (
			SELECT place, form, sum(64 + coalesce(length(edits), 0)) OVER (
				ORDER BY sent_places.time_us DESC, place, form ROWS UNBOUNDED PRECEDING) AS size
			FROM sent_places LEFT JOIN sent_forms ON form = id) AS sized WHERE size > $1)`, l.FormBytes)
	}
	b.Queue("DELETE FROM tool_calls WHERE time_us < $1", first)
	b.Queue("DELETE FROM tool_sets WHERE id NOT IN (SELECT tool_set FROM requests)")
	// A form is removed when no place needs it.
	b.Queue(`WITH RECURSIVE used (id) AS (
			SELECT form FROM sent_places
			UNION SELECT parent FROM sent_forms JOIN used USING (id))
		DELETE FROM sent_forms WHERE id NOT IN (SELECT id FROM used)`)
	return int(gone.RowsAffected()), tx.SendBatch(ctx, &b).Close()
}
