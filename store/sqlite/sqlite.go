// Package sqlite keeps stet's records in one SQLite file.
//
// # On disk
//
// The file is an ordinary SQLite 3 database with application_id 0x73746574
// ("stet"), in WAL mode, mode 0600. SQLite keeps two files beside it
// while it is open (-wal, -shm), and stet one more (-lock, always empty), which
// is locked while the file is opened. A third one, with the ending .anchor in
// place of .db, says how far the audit trail has reached: see guard. The tables are those of the migrations
// directory, one numbered SQL file per change of the schema; those that were made
// are in goose_db_version. Columns are named after the fields of
// the rows in package record. Units and shapes:
//
//	time_us                  microseconds since 1970, UTC
//	added_ns, gap_ns, lifetime_ns   nanoseconds
//	observe, cut, alive      0 or 1
//	prefix, system, tools, thread   hashes of 64 bits, as signed numbers
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
//	sessions, words_blocks, words_bits   what follows from events, for lists and searches
//
// requests.id is unique, and so is (trims.request, trims.call_id, trims.reason): a
// row that comes a second time is dropped. A turn takes the place of the one with its prefix. Rows of trail are numbered without gaps
// and never changed. The oldest are removed by PruneTrail only, which leaves a row of kind "prune":
// intent and before are seq and hash of the last row that was removed.
//
// Any number of processes may have the file open. Writers wait for each other
// for up to ten seconds. They may be of different versions of stet: a newer one adds
// tables, columns and triggers, so that an older one that has the file open goes
// on. One that opens the file after that refuses it, and changes nothing.
// An older one that has the file open when migration 24 is made cannot search in sessions any more.
// Migration 19 is the other exception: it removes columns that are not used any more. An older one
// that has the file open then goes on, but cannot write requests and turns. Before the schema changes, the file is copied:
// CopyFile names the copy, which that older version can open. An older one
// that runs takes a trail that a newer one has pruned for broken; it does not stop for it.
// A commit survives the end of the process; a power cut
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
	synced *sql.DB   // the same file; commits survive a power cut
	aside  *sql.DB   // the same file, by one connection that never writes: see Changes
	held   *sql.Conn // is open as long as the Store is, so that SQLite keeps the -wal file
	guard  *guard
	path   string
	closed atomic.Bool
}

var (
	_ record.Store = (*Store)(nil)
	_ record.Noter = (*Store)(nil)
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
	s.db, s.synced, s.aside = db, synced, aside
	if err := s.upgrade(ctx); err != nil {
		return nil, errors.Join(s.explain("open", err), s.closeAll())
	}
	if err := s.hold(ctx); err != nil {
		return nil, errors.Join(s.explain("open", err), s.closeAll())
	}
	return s, nil
}

// hold takes the connection that stays open, and notes which files are open.
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

// Changes returns a number that is another one when something was written to the
// file since the last call, by whatever process, sessions too. It reads no table.
func (s *Store) Changes(ctx context.Context) (n int64, err error) {
	err = s.aside.QueryRowContext(ctx, "PRAGMA data_version").Scan(&n)
	return n, s.explain("look at", err)
}

// claim makes the file if it is not there, with only its owner able to
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
	q := url.Values{"mode": {"rw"}} // claim makes the file; SQLite must not make another one in its place
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
