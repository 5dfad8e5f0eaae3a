package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
)

// openBroken opens a file for reading only that SQLite reports as damaged, for instance because its end is missing. It returns an
// error if the list of sessions cannot be read.
func openBroken(ctx context.Context, path string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	q := url.Values{"mode": {"ro"}}
	q.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", busyMillis))
	q.Add("_pragma", "writable_schema(1)") // so SQLite opens the file although pages are missing
	source := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: q.Encode()}
	s := &Store{path: path}
	for _, db := range []**sql.DB{&s.db, &s.synced, &s.aside} {
		if *db, err = sql.Open("sqlite", source.String()); err != nil {
			return nil, errors.Join(err, s.closeAll())
		}
	}
	var sessions int
	if err := s.db.QueryRowContext(ctx, "SELECT count(*) FROM sessions").Scan(&sessions); err != nil {
		return nil, errors.Join(err, s.closeAll())
	}
	return s, nil
}
