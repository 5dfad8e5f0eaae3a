package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/rows"
)

var insertTrail = rows.Trail.Insert() + ``

// Log implements record.Trail. The end of the chain is read in the same transaction that appends to the chain. Only one process
// can have such a transaction at a time.
func (s *Store) Log(ctx context.Context, entries ...record.Entry) ([]record.Entry, error) {
	if len(entries) == 0 && !s.closed.Load() {
		return nil, ctx.Err()
	}
	db := s.db
	if slices.ContainsFunc(entries, record.Entry.Durable) {
		db = s.synced
	}
	chained, err := s.chain(ctx, db, entries)
	return chained, s.explain("append to", err)
}

func (s *Store) chain(ctx context.Context, db *sql.DB, entries []record.Entry) ([]record.Entry, error) {
	if err := errors.Join(s.guard.files(), s.guard.writable()); err != nil { // checked before BeginTx, because a new connection could open another file
		return nil, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }() // fails after a commit, which is not an error
	if err := s.whole(ctx, tx); err != nil {
		return nil, err
	}
	chained, err := extend(ctx, tx, entries)
	if err != nil {
		return nil, err
	}
	if err := tx.Commit(); err != nil {
		return nil, err
	}
	if err := s.guard.wrote(chained[len(chained)-1].Link(), db == s.synced); err != nil {
		return nil, err
	}
	return chained, s.guard.files() // if the file was removed during the write, the entries are not in the trail
}

// extend appends entries to the end of the chain.
func extend(ctx context.Context, tx *sql.Tx, entries []record.Entry) ([]record.Entry, error) {
	var last record.Link
	err := tx.QueryRowContext(ctx, "SELECT seq, hash FROM trail ORDER BY seq DESC LIMIT 1").Scan(&last.Seq, &last.Hash)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	chained := record.Chain(last, entries)
	return chained, insert(ctx, tx, insertTrail, chained, rows.Trail.Values)
}

// Entries implements record.Trail.
func (s *Store) Entries(ctx context.Context, q record.TrailQuery) ([]record.Entry, error) {
	condition := rows.TrailWhere(q)
	statement, args := "SELECT "+rows.Trail.Columns+" FROM trail WHERE "+condition.String()+" ORDER BY seq", condition.Args
	if q.Last {
		statement += " DESC"
	}
	if q.Limit > 0 {
		statement += " LIMIT ?"
		args = append(args, q.Limit)
	}
	out, err := each(ctx, s.db, statement, args, rows.Trail.Read)
	if q.Last {
		slices.Reverse(out)
	}
	return out, s.explain("read", err)
}
