// Package sqlite keeps stet's records in one SQLite file.
//
// # On disk
//
// The file is an ordinary SQLite 3 database with application_id 0x73746574 ("stet"), in WAL mode, with file mode 0600. There are
// other files next to it. SQLite creates two files (-wal, -shm) while the database is open. stet creates a file -lock, which is
// always empty. It is locked while a process opens the database. A file with the ending .anchor in place of .db says how far the
// audit trail has reached: see anchor.
//
// Package rows defines the tables. The file's user_version is rows.SchemaNumber; a program opens a file with its own number alone.
//
// Any number of processes may have the file open. Writers wait for each other for up to ten seconds.
//
// A commit survives the end of the process. A power failure may lose the newest commits, but it does not damage the file. It
// loses no event of a session. It loses no commit of the trail that has an intent, and no commit before such a commit. The file
// must be on a local disk, because WAL does not work across machines.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/rows"
)

// Store is an open file. Its methods may be called concurrently.
type Store struct {
	*rows.Records
	file   *file
	aside  *sql.DB   // one connection that never writes: see Changes
	held   *sql.Conn // open until Close, so that SQLite keeps the -wal file
	anchor *anchor
}

var (
	_ record.Store = (*Store)(nil)
	_ record.Noter = (*Store)(nil)
)

// Open opens the file at path. A relative path is relative to the working directory. A missing
// file is created, and so are missing directories above it (mode 0700). It is an error if the file is not a database of stet, is
// damaged, or was made by another version of stet. The error says what a person can do, and the file is not changed.
func Open(ctx context.Context, path string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open records: %w", err)
	}
	f, err := open(path, "rw")
	if err != nil {
		return nil, err
	}
	a := &anchor{path: path, name: AnchorFile(path)}
	s := &Store{Records: rows.NewRecords(f, a), file: f, anchor: a}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(f.Explain("open", err), s.closeAll())
	}
	return s, nil
}

// prepare makes the file and its tables if they do not exist, and opens the connections that stay open.
func (s *Store) prepare(ctx context.Context) (err error) {
	if err := os.MkdirAll(filepath.Dir(s.file.path), 0o700); err != nil {
		return err
	}
	unlock, err := lock(ctx, s.file.path)
	if err != nil {
		return err
	}
	defer unlock()
	if err := claim(s.file.path); err != nil {
		return err
	}
	if err := s.file.create(ctx); err != nil {
		return err
	}
	if s.aside, err = sql.Open("sqlite", source(s.file.path, "rw")); err != nil {
		return err
	}
	s.aside.SetMaxOpenConns(1)
	if s.held, err = s.file.db.Conn(ctx); err != nil {
		return err
	}
	var objects int // reading opens the -wal file
	if err := s.held.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&objects); err != nil {
		return err
	}
	return s.anchor.opened()
}

// Changes returns a number. It is a different one if any process has written to the file since the last call, also to sessions.
// The call reads no table.
func (s *Store) Changes(ctx context.Context) (n int64, err error) {
	err = s.aside.QueryRowContext(ctx, "PRAGMA data_version").Scan(&n)
	return n, s.file.Explain("look at", err)
}

// Ready returns an error if the file cannot be written at the moment, also if the trail has lost entries. It waits for other
// writers until ctx ends. It changes nothing.
func (s *Store) Ready(ctx context.Context) error {
	if _, err := os.Stat(s.file.path); errors.Is(err, fs.ErrNotExist) {
		return rows.Lost(filepath.Base(s.file.path) + " is not there any more") // a new connection would find no file
	}
	return s.file.Explain("write to", s.file.Transact(ctx, false, func(tx rows.Conn) error { return s.Whole(ctx, tx) }))
}

// claim creates the file if it does not exist, so that only its owner can read it. It does not open an existing file: closing
// that file would release the locks that SQLite holds on it in this process.
func claim(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return f.Close()
	}
	info, statErr := os.Stat(path)
	if to, linkErr := os.Readlink(path); linkErr == nil && errors.Is(statErr, fs.ErrNotExist) {
		return fmt.Errorf("%s is a link to %q, which is not there", path, to)
	}
	if statErr != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return os.Chmod(path, 0o600)
	}
	return nil
}

// Close implements record.Store. It waits until running writes have ended.
func (s *Store) Close() error {
	defer s.Wait()()
	if s.file.closed.Swap(true) {
		return nil
	}
	var err error
	if known := s.Known(); known.Seq > 0 && s.Whole(context.Background(), conn{on: s.held}) == nil {
		err = s.anchor.settle(known)
	}
	return s.file.Explain("close", errors.Join(err, s.closeAll()))
}

func (s *Store) closeAll() error {
	var errs []error
	if s.held != nil {
		errs = append(errs, s.held.Close())
	}
	if s.aside != nil {
		errs = append(errs, s.aside.Close())
	}
	return errors.Join(append(errs, s.file.closeAll())...)
}
