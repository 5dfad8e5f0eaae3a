// Package store opens the records wherever they are kept: in a SQLite file or in a PostgreSQL database.
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

// Store keeps the account of requests, what the proxy remembers of conversations, and the audit trail.
type Store interface {
	record.Store
	record.Noter

	// Changes returns a number that is another one when something was written since the last
	// call, by whatever process, sessions too.
	Changes(ctx context.Context) (int64, error)
	// Ready says why nothing could be written now; nil: it could.
	Ready(ctx context.Context) error

	// CheckTrail is record.ErrLost where the audit trail has lost entries. It is quick.
	CheckTrail(ctx context.Context) error
	// AcceptLoss writes down that a person has taken note of a loss; the zero Entry: nothing is lost.
	AcceptLoss(ctx context.Context, by string) (record.Entry, error)
	// PruneTrail removes entries from before a time, but not the newest ones, and leaves a checkpoint.
	PruneTrail(ctx context.Context, before time.Time, newest int, by string) (removed int, err error)
}

// IsDatabase reports whether where is the URL of a database. Everything else is the path of a file.
func IsDatabase(where string) bool { return postgres.IsURL(where) }

// Name is where, for messages: without a password.
func Name(where string) string {
	if IsDatabase(where) {
		return postgres.Name(where)
	}
	return where
}

// Open opens the store, and brings its schema up to date.
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

// OpenSessions opens the stored conversations, which are in the same place.
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

// Index makes what a search needs, which else the search does, where the store has such. Progress is told how many events are done, and of how many.
func Index(ctx context.Context, s session.Store, progress func(done, of int64)) error {
	if file, ok := s.(*sqlite.Sessions); ok {
		return file.Index(ctx, progress)
	}
	return nil
}

// Inspect looks at the store, and changes nothing, its schema neither. The requests of the result are those that
// the query chooses.
func Inspect(ctx context.Context, where string, q record.Query) (rows.Inspection, error) {
	if IsDatabase(where) {
		return postgres.Inspect(ctx, where, q)
	}
	return sqlite.Inspect(ctx, where, q)
}
