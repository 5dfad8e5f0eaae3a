// Package sqlite keeps stet's records in one SQLite file.
//
// # On disk
//
// The file is an ordinary SQLite 3 database with application_id 0x73746574
// ("stet"), in WAL mode, mode 0600. SQLite keeps two files beside it
// while it is open (-wal, -shm), and stet one more (-lock, always empty), which
// is locked while the file is opened. The tables are those of the migrations
// directory, one numbered SQL file per change of the schema; those that were made
// are in goose_db_version. Columns are named after the fields of
// the rows in package record. Units and shapes:
//
//	time_us                  microseconds since 1970, UTC
//	added_ns, gap_ns, lifetime_ns   nanoseconds
//	observe, cut, alive, longer     0 or 1
//	prefix, system, tools, thread   hashes of 64 bits, as signed numbers
//	elided                   hashes of 64 bits, 8 bytes each, the lowest first
//	account                  plain input tokens
//	bytes_*, before, after   bytes
//	tokens*, input, cache_*, output, reasoning   tokens
//	trims.paths              a JSON array of strings, [] where no file is known
//	trail.flags              a JSON array of strings
//	trail.prev, hash         SHA-256 in lower-case hex, as record.Chain says
//	seq                      order of arrival, for rows of the same time
//	events.place             order of arrival
//	events.seq               number in the session, from 1 without gaps
//	events.kind, version, body   as package session writes them
//	events.sum               CRC-32C of session, seq, time_us, kind and version, in
//	                         decimal with a line break after each, and of body
//	sessions.key             what events.session refers to
//	sessions, words, words_until   what follows from events, for lists and searches
//
// requests.id is unique, and so is (trims.request, trims.call_id, trims.reason): a
// row that comes a second time is dropped. A turn takes the place of the one with its prefix. Rows of trail are numbered without gaps from
// 1, and never changed or removed.
//
// Any number of processes may have the file open. Writers wait for each other
// for up to ten seconds. A commit survives the end of the process; a power cut
// may lose the newest commits, but not the file, no commit of the trail that
// has an intent nor one before it, and no event of a session. The file must be on a local
// disk: WAL does not work across machines.
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

// busyMillis is how long a writer waits for another one.
const busyMillis = 10_000

// Store is an open file. Its methods may be called concurrently.
type Store struct {
	db     *sql.DB
	synced *sql.DB // the same file; commits survive a power cut
	aside  *sql.DB // the same file, by one connection that never writes: see Changes
	path   string
	closed atomic.Bool
}

var (
	_ record.Store = (*Store)(nil)
	_ record.Trail = (*Store)(nil)
)

// Open opens the file at path, which is absolute or relative to the working
// directory, and brings its schema up to date. A file that does not exist is
// made, and so are missing directories above it (mode 0700). A file that is
// not stet's, is damaged, or was made by a newer stet is an error that says
// what to do, and is not changed.
func Open(ctx context.Context, path string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open records: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open records: %w", err)
	}
	unlock, err := lock(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open records %s: %w", path, err)
	}
	defer unlock()
	if err := claim(path); err != nil {
		return nil, fmt.Errorf("open records: %w", err)
	}
	db, err := sql.Open("sqlite", dsn(path, "NORMAL"))
	if err != nil {
		return nil, fmt.Errorf("open records %s: %w", path, err)
	}
	synced, err := sql.Open("sqlite", dsn(path, "FULL")) // connects when it is first used
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open records %s: %w", path, err), db.Close())
	}
	synced.SetMaxOpenConns(1) // writers of one process wait here, not in SQLite
	aside, err := sql.Open("sqlite", dsn(path, "NORMAL"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open records %s: %w", path, err), synced.Close(), db.Close())
	}
	aside.SetMaxOpenConns(1)
	s := &Store{db: db, synced: synced, aside: aside, path: path}
	if err := s.upgrade(ctx); err != nil {
		return nil, errors.Join(s.explain("open", err), aside.Close(), synced.Close(), db.Close())
	}
	return s, nil
}

// Changes returns a number that is another one when something was written to the
// file since the last call, by whatever process, sessions too. It reads no table.
func (s *Store) Changes(ctx context.Context) (n int64, err error) {
	err = s.aside.QueryRowContext(ctx, "PRAGMA data_version").Scan(&n)
	return n, s.explain("look at", err)
}

// claim makes the file if it is not there, with nobody but its owner able to
// read it. It does not open one that is: closing a descriptor would drop the
// locks that SQLite holds on the file elsewhere in this process.
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
	q := url.Values{}
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
	return s.explain("close", errors.Join(s.aside.Close(), s.synced.Close(), s.db.Close()))
}
