package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/stet-dev/stet/session"
)

// Sessions keeps sessions in the same file as the records. Its methods may be
// called concurrently; writers of one process share commits.
type Sessions struct {
	file   *Store
	db     *sql.DB // of one connection, which the writer holds; commits survive a power cut
	commit committer
	broken error // why nothing can be appended; nil: it can

	fresh      atomic.Int64 // bytes that were appended since filters were made
	indexing   atomic.Bool  // filters are being made in the background
	background sync.WaitGroup
	until      context.Context // ends with Close
	stop       context.CancelFunc
}

var _ session.Store = (*Sessions)(nil)

// OpenSessions opens the file at path, as Open does. One that is damaged is
// opened if its list of sessions can still be read: what is left can be read and
// exported, what is missing is said, and Append is an error.
func OpenSessions(ctx context.Context, path string) (*Sessions, error) {
	file, broken := Open(ctx, path)
	if broken != nil {
		if !damaged(broken) {
			return nil, broken
		}
		var err error
		if file, err = openBroken(ctx, path); err != nil {
			return nil, broken // which says what to do
		}
	}
	s := &Sessions{file: file, broken: broken, commit: committer{right: make(chan struct{}, 1)}}
	s.until, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	var err error
	if s.db, err = sql.Open("sqlite", dsn(file.path, "FULL")); err != nil {
		return nil, errors.Join(fmt.Errorf("open sessions %s: %w", file.path, err), file.Close())
	}
	return s, nil
}

// Close implements session.Store. It waits for what is being written.
func (s *Sessions) Close() error {
	s.commit.right <- struct{}{}
	defer func() { <-s.commit.right }()
	if s.file.closed.Load() {
		return nil
	}
	s.stop()
	s.background.Wait()
	err := s.commit.close()
	return errors.Join(err, s.file.explain("close", s.db.Close()), s.file.Close())
}

// explain says what op was doing, and makes the errors of a closed file the
// seam's.
func (s *Sessions) explain(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case s.file.closed.Load():
		return fmt.Errorf("%s sessions %s: %w", op, s.file.path, session.ErrClosed)
	}
	return s.file.explain(op, err)
}
