package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/stet-dev/stet/session"
)

// Sessions is a session.Store in the same file as the records. Its methods may be called concurrently. Goroutines that append at
// the same time share commits.
type Sessions struct {
	file   *Store
	db     *sql.DB // its only connection belongs to the writer; commits survive a power failure
	commit committer
	broken error // why appending is impossible; nil: it is possible
}

var _ session.Store = (*Sessions)(nil)

// OpenSessions opens the file at path, as Open does. A damaged file is opened too if its list of sessions can be read. Then
// Append is an error, the readable events can be read and exported, and the missing ones are reported.
func OpenSessions(ctx context.Context, path string) (*Sessions, error) {
	file, broken := Open(ctx, path)
	if broken != nil {
		if !damaged(broken) {
			return nil, broken
		}
		var err error
		if file, err = openBroken(ctx, path); err != nil {
			return nil, broken // this error says what a person can do
		}
	}
	s := &Sessions{file: file, broken: broken, commit: committer{right: make(chan struct{}, 1)}}
	var err error
	if s.db, err = sql.Open("sqlite", dsn(file.path, "FULL")); err != nil {
		return nil, errors.Join(fmt.Errorf("open sessions %s: %w", file.path, err), file.Close())
	}
	return s, nil
}

// Close implements session.Store. It waits until running writes have ended.
func (s *Sessions) Close() error {
	s.commit.right <- struct{}{}
	defer func() { <-s.commit.right }()
	if s.file.closed.Load() {
		return nil
	}
	err := s.commit.close()
	return errors.Join(err, s.file.explain("close", s.db.Close()), s.file.Close())
}

// explain adds the operation that failed. For a closed file it returns session.ErrClosed.
func (s *Sessions) explain(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case s.file.closed.Load():
		return fmt.Errorf("%s sessions %s: %w", op, s.file.path, session.ErrClosed)
	}
	return s.file.explain(op, err)
}
