package postgres

import (
	"context"
	"errors"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/rows"
)

// Store keeps the account of requests, the proxy's knowledge of conversations, and the audit trail. Its methods may be called
// concurrently.
type Store struct {
	*rows.Records
	d *database
}

var (
	_ record.Store = (*Store)(nil)
	_ record.Noter = (*Store)(nil)
)

// Open opens the database at a URL (postgres://…), and makes the tables of an empty one.
func Open(ctx context.Context, where string) (*Store, error) {
	d, err := connect(ctx, where, false)
	if err != nil {
		return nil, err
	}
	return &Store{rows.NewRecords(d, head{}), d}, nil
}

// Close implements record.Store. It waits until running writes have ended.
func (s *Store) Close() error {
	defer s.Wait()()
	return s.d.Close()
}

// Changes returns a number. It is a different one if any process has written to the database since the last call, also to
// sessions. The call reads no table: the number is a hash of the visible transactions.
func (s *Store) Changes(ctx context.Context) (n int64, err error) {
	err = s.d.pool.QueryRow(ctx, "SELECT hashtextextended(pg_current_snapshot()::text, 0)").Scan(&n)
	return n, s.d.Explain("look at", err)
}

// Ready returns an error if the store cannot be written at the moment, also if the trail has lost entries. It changes nothing.
func (s *Store) Ready(ctx context.Context) error {
	var readOnly bool
	if err := s.d.pool.QueryRow(ctx, "SELECT pg_is_in_recovery()").Scan(&readOnly); err != nil {
		return s.d.Explain("write to", err)
	}
	if readOnly {
		return s.d.Explain("write to", errors.New("the database is a replica, which takes no writes"))
	}
	return s.CheckTrail(ctx)
}

// head implements rows.Anchor: the table trail_head. It is written in the transaction that adds to the trail.
type head struct{}

// Noted implements rows.Anchor.
func (head) Noted(ctx context.Context, on rows.Conn, lock string) (l record.Link, exact bool, err error) {
	found, err := rows.One(ctx, on, "SELECT seq, hash FROM trail_head"+lock, nil, &l.Seq, &l.Hash)
	if err == nil && !found {
		err = rows.Lost("trail_head, which says how far the trail has reached, is empty")
	}
	return l, true, err
}

// Writable implements rows.Anchor.
func (head) Writable() error { return nil }

// Move implements rows.Anchor.
func (head) Move(last record.Link) []rows.Statement {
	return []rows.Statement{{
		Text: "INSERT INTO trail_head (seq, hash) VALUES (?, ?) ON CONFLICT (one) DO UPDATE SET seq = excluded.seq, hash = excluded.hash",
		Args: [][]any{{int64(last.Seq), last.Hash}},
	}}
}

// Wrote implements rows.Anchor.
func (head) Wrote(record.Link, bool, bool) error { return nil }
