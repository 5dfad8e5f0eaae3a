package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Ready returns an error if the file cannot be written at the moment, also if the trail has lost entries. It waits for other
// writers until ctx ends. It changes nothing.
func (s *Store) Ready(ctx context.Context) error {
	if _, err := os.Stat(s.path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not there any more", s.path)
	}
	tx, err := s.db.BeginTx(ctx, nil) // takes the lock for writing: see dsn
	if err != nil {
		return s.explain("write to", err)
	}
	return s.explain("write to", errors.Join(s.whole(ctx, tx), tx.Rollback()))
}
