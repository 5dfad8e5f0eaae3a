package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Ready says why nothing could be written to the file now, also where the trail has
// lost entries; nil: it could. It waits for other writers until ctx ends, and changes
// nothing.
func (s *Store) Ready(ctx context.Context) error {
	if _, err := os.Stat(s.path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not there any more", s.path)
	}
	tx, err := s.db.BeginTx(ctx, nil) // takes the lock of a writer: see dsn
	if err != nil {
		return s.explain("write to", err)
	}
	return s.explain("write to", errors.Join(s.whole(ctx, tx), tx.Rollback()))
}
