package postgres

import (
	"context"

	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/rows"
)

// Sessions is a session.Store in the database. Its methods may be called concurrently.
type Sessions struct {
	*rows.Sessions
	d *database
}

var _ session.Store = (*Sessions)(nil)

// OpenSessions opens the database at a URL (postgres://…), and makes the tables of an empty one.
func OpenSessions(ctx context.Context, where string) (*Sessions, error) {
	d, err := connect(ctx, where, false)
	if err != nil {
		return nil, err
	}
	return &Sessions{rows.NewSessions(d, rows.SessionHooks{}), d}, nil
}

// Close implements session.Store. It waits until running writes have ended.
func (s *Sessions) Close() error {
	defer s.Wait()()
	return s.d.Close()
}
