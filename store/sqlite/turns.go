package sqlite

import (
	"context"
	"slices"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/rows"
)

var putTurn = rows.Turns.Insert() + `
	ON CONFLICT (prefix) DO UPDATE SET time_us = max(time_us, excluded.time_us), model = excluded.model, system = excluded.system,
		tools = excluded.tools, lifetime_ns = excluded.lifetime_ns, account = excluded.account,
		conversation = excluded.conversation, thread = excluded.thread,
		moment = CASE WHEN moment = '' THEN excluded.moment ELSE moment END,
		elided = CASE WHEN excluded.elided = x'' THEN elided ELSE excluded.elided END`

// Turns implements record.Store.
func (s *Store) Turns(ctx context.Context, limit int) ([]record.Turn, error) {
	out, err := each(ctx, s.db, `SELECT `+rows.Turns.Columns+` FROM (
		SELECT * FROM (SELECT * FROM turns WHERE (moment <> '') = 0 ORDER BY time_us DESC LIMIT ?1)
		UNION ALL SELECT * FROM (SELECT * FROM turns WHERE (moment <> '') = 1 ORDER BY time_us DESC LIMIT ?1))`,
		[]any{limit}, rows.Turns.Read)
	slices.SortStableFunc(out, func(a, b record.Turn) int { return b.Time.Compare(a.Time) })
	return out, s.explain("read", err)
}

// TurnsAt implements record.Store.
func (s *Store) TurnsAt(ctx context.Context, prefixes []uint64) ([]record.Turn, error) {
	list, err := numbersOf(prefixes)
	if err != nil {
		return nil, err
	}
	out, err := each(ctx, s.db, `SELECT `+rows.Turns.Columns+` FROM turns WHERE prefix IN (SELECT value FROM json_each(?)) ORDER BY time_us DESC`,
		[]any{list}, rows.Turns.Read)
	return out, s.explain("read", err)
}

// Prune implements record.Store. It is one transaction.
func (s *Store) Prune(ctx context.Context, l record.Limits) (removed int, err error) {
	removed, err = s.prune(ctx, l)
	return removed, s.explain("prune", err)
}

func (s *Store) prune(ctx context.Context, l record.Limits) (removed int, err error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }() // fails after a commit, which is not an error
	var since int64
	if !l.Since.IsZero() {
		since = rows.CeilMicro(l.Since)
	}
	first := since // time of the oldest request that stays
	if l.Requests > 0 {
		row := tx.QueryRowContext(ctx, `SELECT coalesce(max(time_us), ?1) FROM (
			SELECT time_us FROM requests ORDER BY time_us DESC, seq DESC LIMIT 1 OFFSET ?2)`, since, l.Requests-1)
		if err := row.Scan(&first); err != nil {
			return 0, err
		}
		first = max(first, since)
	}
	result, err := tx.ExecContext(ctx, `DELETE FROM requests WHERE time_us < ?`, first)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	if err != nil {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM trims WHERE time_us < ?`, first); err != nil {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM turns WHERE time_us < ?`, since); err != nil {
		return 0, err
	}
	for _, cold := range []bool{false, true} {
		if l.Turns <= 0 {
			break
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM turns WHERE prefix IN (
			SELECT prefix FROM turns WHERE (moment <> '') = ? ORDER BY time_us DESC LIMIT -1 OFFSET ?)`, cold, l.Turns)
		if err != nil {
			return 0, err
		}
	}
	if err := pruneForms(ctx, tx, since, l.FormBytes); err != nil {
		return 0, err
	}
	if err := pruneTools(ctx, tx, first); err != nil {
		return 0, err
	}
	return int(n), tx.Commit()
}
