// Package sqlite keeps stet's records in one SQLite file.
//
// # On disk
//
// The file is an ordinary SQLite 3 database with application_id 0x73746574 ("stet"), in WAL mode, with file mode 0600. There are
// other files beside it. SQLite creates two files (-wal, -shm) while the database is open. stet creates a file -lock, which is
// always empty. It is locked while a process opens the database. A file with the ending .anchor in place of .db says how far the
// audit trail has reached: see guard.
//
// schema.sql defines the tables. The file's user_version is the number of the schema; a program opens a file with its own number
// alone. Columns have the names of the fields of the rows in package record. Their units and formats are:
//
//	time_us                  microseconds since 1970, UTC
//	added_ns, gap_ns, lifetime_ns   nanoseconds
//	observe, cut, alive, bound, drops   0 or 1
//	prefix, system, turns.tools, thread, tool_set, tool_sets.id, sent_forms.id,
//	sent_places.place, form, parent   hashes of 64 bits, as signed numbers
//	elided                   hashes of 64 bits, 8 bytes each, the lowest first
//	account                  plain input tokens
//	bytes_*, before, after   bytes
//	tokens*, input, cache_*, output, reasoning   tokens
//	trims.paths              a JSON array of strings, [] where no file is known
//	trail.flags              a JSON array of strings
//	trail.prev, hash         SHA-256 in lower-case hex, as record.Chain says
//	trail.request            SHA-256 in lower-case hex; empty: the call may be done again
//	seq                      order of arrival, for rows of the same time
//	events.place             order of arrival
//	events.seq               number in the session, from 1 without gaps
//	events.kind, version, body   as package session writes them
//	events.sum               CRC-32C of session, seq, time_us, kind and version, in
//	                         decimal with a line break after each, and of body
//	sessions.key             what events.session refers to
//	sessions                 derived from events, for lists
//
// requests.id is unique, and so is (trims.request, trims.call_id, trims.reason): a second row with the same values is dropped. A
// turn replaces the turn with the same prefix. Rows of trail are numbered without gaps and never changed. Only PruneTrail removes
// rows of trail: the oldest. It adds a row of kind "prune", whose columns intent and before have seq and hash of the last removed
// row.
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
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"

	_ "modernc.org/sqlite" // the driver

	"github.com/stet-dev/stet/record"
)

// busyMillis is how long a writer waits for another one, in milliseconds.
const busyMillis = 10_000

// Store is an open file. Its methods may be called concurrently.
type Store struct {
	db     *sql.DB
	synced *sql.DB   // the same file; commits survive a power failure
	aside  *sql.DB   // the same file, with one connection that never writes: see Changes
	held   *sql.Conn // open until Close, so that SQLite keeps the -wal file
	places *sql.Stmt // selectPlaces, prepared; nil: the file was not opened for records
	guard  *guard
	path   string
	closed atomic.Bool
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
	s := &Store{path: path}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, s.explain("open", err)
	}
	unlock, err := lock(ctx, path)
	if err != nil {
		return nil, s.explain("open", err)
	}
	defer unlock()
	if err := claim(path); err != nil {
		return nil, s.explain("open", err)
	}
	db, err := sql.Open("sqlite", dsn(path, "NORMAL"))
	if err != nil {
		return nil, fmt.Errorf("open records %s: %w", path, err)
	}
	synced, err := sql.Open("sqlite", dsn(path, "FULL")) // connects at its first use
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open records %s: %w", path, err), db.Close())
	}
	synced.SetMaxOpenConns(1) // writers of one process wait here, not in SQLite
	aside, err := sql.Open("sqlite", dsn(path, "NORMAL"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open records %s: %w", path, err), synced.Close(), db.Close())
	}
	aside.SetMaxOpenConns(1)
	s.db, s.synced, s.aside = db, synced, aside
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(s.explain("open", err), s.closeAll())
	}
	if err := s.hold(ctx); err != nil {
		return nil, errors.Join(s.explain("open", err), s.closeAll())
	}
	if s.places, err = s.db.PrepareContext(ctx, selectPlaces); err != nil {
		return nil, errors.Join(s.explain("open", err), s.closeAll())
	}
	return s, nil
}

// hold opens the connection that stays open until Close, and creates the guard with the files that are open.
func (s *Store) hold(ctx context.Context) (err error) {
	if s.held, err = s.db.Conn(ctx); err != nil {
		return err
	}
	var version int // reading opens the -wal file
	if err := s.held.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&version); err != nil {
		return err
	}
	s.guard, err = newGuard(s.path)
	return err
}

// Changes returns a number. It is a different one if any process has written to the file since the last call, also to sessions.
// The call reads no table.
func (s *Store) Changes(ctx context.Context) (n int64, err error) {
	err = s.aside.QueryRowContext(ctx, "PRAGMA data_version").Scan(&n)
	return n, s.explain("look at", err)
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

func dsn(path, synchronous string) string {
	q := url.Values{"mode": {"rw"}} // claim creates the file; SQLite must not create another one in its place
	q.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", busyMillis))
	q.Add("_pragma", "synchronous("+synchronous+")")
	q.Add("_txlock", "immediate")
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: q.Encode()}
	return u.String()
}

// Close implements record.Store.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	var err error
	if s.guard != nil && s.whole(context.Background(), s.held) == nil {
		err = s.guard.settle()
	}
	return s.explain("close", errors.Join(err, s.closeAll()))
}

func (s *Store) closeAll() error {
	var errs []error
	if s.places != nil {
		errs = append(errs, s.places.Close())
	}
	if s.held != nil {
		errs = append(errs, s.held.Close())
	}
	for _, db := range []*sql.DB{s.aside, s.synced, s.db} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}
