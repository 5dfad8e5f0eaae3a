package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"slices"
	"time"

	"github.com/stet-dev/stet/record"
)

const turnColumns = `prefix, time_us, moment, model, system, tools, lifetime_ns, account, conversation, elided, thread`

var putTurn = `INSERT INTO turns (` + turnColumns + `) VALUES (` + marks(turnColumns) + `)
	ON CONFLICT (prefix) DO UPDATE SET time_us = excluded.time_us, model = excluded.model, system = excluded.system,
		tools = excluded.tools, lifetime_ns = excluded.lifetime_ns, account = excluded.account,
		conversation = excluded.conversation, thread = excluded.thread,
		moment = CASE WHEN moment = '' THEN excluded.moment ELSE moment END,
		elided = CASE WHEN excluded.elided = x'' THEN elided ELSE excluded.elided END`

func turnValues(t record.Turn) []any {
	return []any{
		int64(t.Prefix), t.Time.UnixMicro(), t.Moment, t.Model, int64(t.System), int64(t.Tools), int64(t.Lifetime), t.Account, t.Conversation, packed(t.Elided), int64(t.Thread),
	}
}

// packed is hashes as they are stored.
func packed(hashes []uint64) []byte {
	out := make([]byte, 0, 8*len(hashes))
	for _, h := range hashes {
		out = binary.LittleEndian.AppendUint64(out, h)
	}
	return out
}

// unpacked is the reverse of packed; nil where there is nothing.
func unpacked(b []byte) (out []uint64) {
	for ; len(b) >= 8; b = b[8:] {
		out = append(out, binary.LittleEndian.Uint64(b))
	}
	return out
}

// Turns implements record.Store.
func (s *Store) Turns(ctx context.Context, limit int) ([]record.Turn, error) {
	out, err := each(ctx, s.db, `SELECT `+turnColumns+` FROM (
		SELECT * FROM (SELECT * FROM turns WHERE (moment <> '') = 0 ORDER BY time_us DESC LIMIT ?1)
		UNION ALL SELECT * FROM (SELECT * FROM turns WHERE (moment <> '') = 1 ORDER BY time_us DESC LIMIT ?1))`,
		[]any{limit}, func(rows *sql.Rows) (t record.Turn, err error) {
			var prefix, at, system, tools, thread int64
			var elided sql.RawBytes
			err = rows.Scan(&prefix, &at, &t.Moment, &t.Model, &system, &tools, &t.Lifetime, &t.Account, &t.Conversation, &elided, &thread)
			t.Elided = unpacked(elided)
			t.Prefix, t.System, t.Tools, t.Thread = uint64(prefix), uint64(system), uint64(tools), uint64(thread)
			t.Time = time.UnixMicro(at).UTC()
			return t, err
		})
	slices.SortStableFunc(out, func(a, b record.Turn) int { return b.Time.Compare(a.Time) })
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
	defer func() { _ = tx.Rollback() }() // nothing is left to do after a commit
	var since int64
	if !l.Since.IsZero() {
		since = ceilMicro(l.Since)
	}
	first := since // of the requests that stay
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
	return int(n), tx.Commit()
}
