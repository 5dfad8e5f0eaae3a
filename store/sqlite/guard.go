package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/stet-dev/stet/record"
)

// guard detects that the trail has lost entries. (FILE-11)
//
// A chain of hashes cannot show that entries at its end are missing. So the newest link is also kept in two other places: in the
// memory of each process that has written to the trail, and in the anchor. The anchor is a file beside the database. Before an
// entry is added, both links must be in the trail. The guard also checks that the open files are still the files at their paths,
// because writing to a removed file causes no error.
//
// The anchor holds one line: "stet trail", the number of the newest entry that survives a power failure, in 20 digits, and the
// hash of that entry. It is written in place, after the commit. So the anchor never names an entry that the trail does not have,
// not even after a power failure. It may name an older entry than the newest. A process does not replace the link of a later
// entry that another process has written.
//
// Pruning may remove the entries of both links. But it writes its own checkpoint to the anchor, and it removes only entries that
// are much older than a day. So two entries must be in the trail even if a checkpoint says that they were pruned: the entry in
// the anchor, and an entry that this process wrote within the last day. Otherwise a program that can write to the file could hide
// a loss with a false checkpoint.
type guard struct {
	path, anchor string
	file, wal    os.FileInfo // as they were when they were opened

	mu       sync.Mutex
	size     int64       // smallest size that the file can have, in bytes
	known    record.Link // the newest entry that this process has written
	knownAt  time.Time   // when known was set, by the wall clock: it counts the time in which the machine sleeps
	anchored record.Link // the newest entry that this process has written to the anchor
	noted    time.Time   // when anchored was written
}

// AnchorFile returns the path of the anchor for the database at path. The anchor says how far the audit trail has reached (see
// guard).
func AnchorFile(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) + ".anchor" }

// noteEvery is how long entries may wait before they are written to the anchor, if they need not survive a power failure.
const noteEvery = 10 * time.Second

func newGuard(path string) (*guard, error) {
	g := &guard{path: path, anchor: AnchorFile(path)}
	var err error
	if g.file, err = os.Stat(path); err != nil {
		return nil, err
	}
	g.size = g.file.Size()
	g.wal, err = os.Stat(path + "-wal")
	if errors.Is(err, fs.ErrNotExist) { // SQLite uses no -wal file on this file system
		return g, nil
	}
	return g, err
}

// lost returns the error for a trail that has lost entries. why says how the loss was detected.
func lost(why string) error {
	return fmt.Errorf("%w: %s; the file tools do nothing until a person has run \"stet audit accept\" and started stet again",
		record.ErrLost, why)
}

// files returns record.ErrLost if the files at the paths are not the opened files, or if the database file is shorter than
// before.
func (g *guard) files() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	file, err := unchanged(g.path, g.file)
	if err == nil && g.wal != nil {
		_, err = unchanged(g.path+"-wal", g.wal)
	}
	if err != nil {
		return err
	}
	if file.Size() < g.size {
		return lost(fmt.Sprintf("%s was cut from %d bytes to %d", filepath.Base(g.path), g.size, file.Size()))
	}
	g.size = file.Size()
	return nil
}

// unchanged returns the file information of path if that is still the opened file.
func unchanged(path string, opened os.FileInfo) (os.FileInfo, error) {
	now, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, lost(filepath.Base(path) + " was removed while it was open")
	case err != nil:
		return nil, err
	case !os.SameFile(now, opened):
		return nil, lost(filepath.Base(path) + " was replaced by another file while it was open")
	}
	return now, nil
}

// links returns the links that must be in the trail.
func (g *guard) links() ([]record.Link, error) {
	g.mu.Lock()
	known := g.known
	g.mu.Unlock()
	anchored, err := readAnchor(g.anchor)
	if err != nil {
		return nil, err
	}
	var all []record.Link
	for _, l := range []record.Link{known, anchored} {
		if l.Seq > 0 {
			all = append(all, l)
		}
	}
	return all, nil
}

// regular returns an error if name exists and is not a regular file. Opening a pipe, for example, could block forever.
func regular(name string) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s, which says how far the audit trail has reached, is not a regular file: remove it", name)
	}
	return nil
}

// anchorForm is the format of the anchor: the number and the hash of an entry. The length is always the same.
const anchorForm = "stet trail %020d:%s\n"

// readAnchor returns the link in the anchor. It returns the zero Link if there is no anchor.
func readAnchor(name string) (record.Link, error) {
	if err := regular(name); err != nil {
		return record.Link{}, err
	}
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(b) == 0 {
		return record.Link{}, nil
	}
	if err != nil {
		return record.Link{}, fmt.Errorf("anchor of the audit trail: %w", err)
	}
	line, ok := strings.CutPrefix(string(b), "stet trail ")
	l, err := record.ParseLink(strings.TrimSuffix(line, "\n"))
	if !ok || err != nil {
		return l, lost(filepath.Base(name) + ", which says how far the trail has reached, is damaged")
	}
	return l, nil
}

// wrote records that the entry of last is in the trail. durable says that the entry survives a power failure.
func (g *guard) wrote(last record.Link, durable bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if last.Seq > g.known.Seq {
		g.known, g.knownAt = last, time.Now().Round(0)
	}
	switch {
	case g.known == g.anchored:
		return nil
	case !durable && time.Since(g.noted) < noteEvery:
		return nil
	}
	return g.advance(durable)
}

// settle writes the newest known link to the anchor, if it is not there yet. It is called at the end of the process, after a
// check that the trail is complete.
func (g *guard) settle() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.known == g.anchored {
		return nil
	}
	return g.advance(false)
}

// advance writes the known link to the anchor, unless the anchor has the link of a later entry. The caller holds mu.
func (g *guard) advance(durable bool) error {
	if on, err := readAnchor(g.anchor); err == nil && on.Seq > g.known.Seq {
		g.anchored = g.known
		return nil
	}
	return g.note(durable)
}

// writable returns an error if the anchor cannot be written. It is called before a commit, because the anchor is written after
// it.
func (g *guard) writable() error {
	if err := regular(g.anchor); err != nil {
		return err
	}
	f, err := os.OpenFile(g.anchor, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// note writes the known link to the anchor. Before that it makes sure that the entry is on the disk. The caller holds mu.
func (g *guard) note(durable bool) error {
	if !durable && g.wal != nil {
		wal, err := os.OpenFile(g.path+"-wal", os.O_RDWR, 0)
		if err != nil {
			return err
		}
		if err := errors.Join(wal.Sync(), wal.Close()); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(g.anchor, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(writeAnchor(f, g.known), f.Close()); err != nil {
		return err
	}
	g.anchored, g.noted = g.known, time.Now()
	return nil
}

// writeAnchor writes the line in place. After a power failure the file has the previous line or this one. If the file is new, the
// line is flushed to the disk.
func writeAnchor(f *os.File, l record.Link) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	line := fmt.Appendf(nil, anchorForm, l.Seq, l.Hash)
	if _, err := f.WriteAt(line, 0); err != nil {
		return err
	}
	switch info.Size() {
	case int64(len(line)):
		return nil
	case 0:
		return f.Sync()
	}
	return f.Truncate(int64(len(line)))
}

// accept sets last as the newest known entry, even if its number is smaller than that of the known one, and writes it to the
// anchor.
func (g *guard) accept(last record.Link) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known, g.knownAt = last, time.Now().Round(0)
	return g.note(true)
}

// prunable reports whether pruning may have removed the entry with the link l.
func (g *guard) prunable(l record.Link) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return l == g.known && time.Now().Round(0).Sub(g.knownAt) > 24*time.Hour
}

// queryer is a database, a connection or a transaction.
type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// checkLink returns record.ErrLost if the entry with the link l is not in the trail. If prunable is set, an entry that was pruned is
// no error.
func checkLink(ctx context.Context, q queryer, l record.Link, prunable bool) error {
	var hash string
	err := q.QueryRowContext(ctx, "SELECT hash FROM trail WHERE seq = ?", int64(l.Seq)).Scan(&hash)
	switch {
	case err == nil && hash != l.Hash:
		return lost(fmt.Sprintf("entry %d is not the one that was written", l.Seq))
	case err == nil || !errors.Is(err, sql.ErrNoRows):
		return err
	}
	var pruned uint64
	if !prunable {
		return missing(l)
	}
	if err := q.QueryRowContext(ctx, "SELECT coalesce(max(intent), 0) FROM trail WHERE kind = 'prune'").Scan(&pruned); err != nil {
		return err
	}
	if l.Seq > pruned {
		return missing(l)
	}
	return nil
}

func missing(l record.Link) error {
	return lost(fmt.Sprintf("entry %d, which was written, is not in it any more", l.Seq))
}

// Noted implements record.Noter.
func (s *Store) Noted(ctx context.Context) ([]record.Link, error) {
	links, err := s.guard.links()
	if err == nil {
		err = s.whole(ctx, s.db)
	}
	return links, s.explain("look at", err)
}

// CheckTrail returns record.ErrLost if the trail has lost entries. It adds no entry, and therefore does not find every reason why
// adding one could fail. It is quick.
func (s *Store) CheckTrail(ctx context.Context) error {
	return s.explain("look at", s.whole(ctx, s.db))
}

// whole returns record.ErrLost if an entry that must be in the trail is missing.
func (s *Store) whole(ctx context.Context, q queryer) error {
	if err := s.guard.files(); err != nil {
		return err
	}
	links, err := s.guard.links()
	if err != nil {
		return err
	}
	for _, l := range links {
		if err := checkLink(ctx, q, l, s.guard.prunable(l)); err != nil {
			return err
		}
	}
	return nil
}

// AcceptLoss adds an entry to the trail which says that a person knows of lost entries, and returns that entry. by names the
// person. After that the trail takes entries again. Other processes that have the trail open must be restarted. If no entry is
// lost, AcceptLoss writes nothing and returns the zero Entry.
func (s *Store) AcceptLoss(ctx context.Context, by string) (record.Entry, error) {
	e, err := s.acceptLoss(ctx, by)
	return e, s.explain("append to", err)
}

func (s *Store) acceptLoss(ctx context.Context, by string) (e record.Entry, err error) {
	tx, err := s.synced.BeginTx(ctx, nil)
	if err != nil {
		return e, err
	}
	defer func() { _ = tx.Rollback() }() // fails after a commit, which is not an error
	if err := s.whole(ctx, tx); !errors.Is(err, record.ErrLost) {
		return e, err
	}
	links, err := s.guard.links()
	if err != nil && !errors.Is(err, record.ErrLost) {
		return e, err
	}
	var gone record.Link
	for _, l := range links {
		if l.Seq > gone.Seq {
			gone = l
		}
	}
	e = record.LossEntry(gone, by)
	e.Time = time.Now()
	chained, err := extend(ctx, tx, []record.Entry{e})
	if err != nil {
		return e, err
	}
	if err := tx.Commit(); err != nil {
		return e, err
	}
	return chained[0], s.guard.accept(chained[0].Link())
}
