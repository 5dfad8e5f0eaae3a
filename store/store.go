// Package store opens what keeps the records: a SQLite file or a PostgreSQL database.
package store

import (
	"context"
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/postgres"
	"github.com/stet-dev/stet/store/rows"
	"github.com/stet-dev/stet/store/sqlite"
)

// Store keeps the account of requests, the proxy's knowledge of conversations, and the audit trail.
type Store interface {
	record.Store
	record.Noter

	// Changes returns a number. It is a different one if any process has written to the store since the last call, also to
	// sessions.
	Changes(ctx context.Context) (int64, error)
	// Ready returns an error if the store cannot be written at the moment.
	Ready(ctx context.Context) error

	// CheckTrail returns record.ErrLost if the audit trail has lost entries. It is quick.
	CheckTrail(ctx context.Context) error
	// AcceptLoss adds an entry which says that a person knows of lost entries. It returns the zero Entry if no entry is lost.
	AcceptLoss(ctx context.Context, by string) (record.Entry, error)
	// PruneTrail removes entries from before a time, but not the newest ones, and adds a checkpoint.
	PruneTrail(ctx context.Context, before time.Time, newest int, by string) (removed int, err error)
}

// IsDatabase reports whether where is the URL of a database. Any other value is the path of a file.
func IsDatabase(where string) bool { return postgres.IsURL(where) }

// Name returns where without its password, for messages.
func Name(where string) string {
	if IsDatabase(where) {
		return postgres.Name(where)
	}
	return where
}

// Open opens the store, and makes the tables of an empty one.
func Open(ctx context.Context, where string) (Store, error) {
	if IsDatabase(where) {
		s, err := postgres.Open(ctx, where)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	s, err := sqlite.Open(ctx, where)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// OpenSessions opens the stored sessions, which are in the same file or database as the records.
func OpenSessions(ctx context.Context, where string) (session.Store, error) {
	if IsDatabase(where) {
		s, err := postgres.OpenSessions(ctx, where)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	s, err := sqlite.OpenSessions(ctx, where)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Inspect reads the store and changes nothing. The result has the requests that q selects.
func Inspect(ctx context.Context, where string, q record.Query) (rows.Inspection, error) {
	if IsDatabase(where) {
		return postgres.Inspect(ctx, where, q)
	}
	return sqlite.Inspect(ctx, where, q)
}
