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

// guard notices that the trail has lost entries. (FILE-11)
//
// A chain of hashes cannot show that its end is missing. So the newest link is
// kept in two other places: in the memory of each process that has written to
// the trail, and in the anchor, a file beside the database. Both must be in the
// trail whenever an entry is added to it. And the files that were opened must
// still be those at their paths, since a file that was removed can be written
// to as if nothing had happened.
//
// The anchor holds one line, "stet trail", the number of the newest entry that
// survives a loss of power, in 20 digits, and its hash. It is written in place,
// after the commit. So it never says more than the trail has, also after a loss
// of power, and it may say less. A process does not replace what another one has
// noted of a later entry.
//
// Pruning may remove the entries of both links. But it notes its own checkpoint in
// the anchor, and it is for entries that are much older than a day. So the entry that
// the anchor names, and the one that this process wrote within a day, must be in the
// trail whatever a checkpoint says: a program that can write to the file can add a checkpoint.
type guard struct {
	path, anchor string
	file, wal    os.FileInfo // as they were opened

	mu       sync.Mutex
	size     int64       // of the file, at least
	known    record.Link // the newest entry that this process has written
	knownAt  time.Time   // when that was, by the wall clock, which counts a machine's sleep too
	anchored record.Link // the newest one that it has noted in the anchor
	noted    time.Time   // when that was
}

// AnchorFile is where it is noted how far the audit trail of the database at path
// has reached.
func AnchorFile(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) + ".anchor" }

// noteEvery is how long entries that need not survive a loss of power wait for
// being noted in the anchor.
const noteEvery = 10 * time.Second

func newGuard(path string) (*guard, error) {
	g := &guard{path: path, anchor: AnchorFile(path)}
	var err error
	if g.file, err = os.Stat(path); err != nil {
		return nil, err
	}
	g.size = g.file.Size()
	g.wal, err = os.Stat(path + "-wal")
	if errors.Is(err, fs.ErrNotExist) { // on this file system SQLite does without
		return g, nil
	}
	return g, err
}

// lost is the error of a trail that has lost entries; why says how that shows.
func lost(why string) error {
	return fmt.Errorf("%w: %s; the file tools do nothing until a person has run \"stet audit accept\" and started stet again",
		record.ErrLost, why)
}

// files reports ErrLost if the files at their paths are not those that were
// opened, or are shorter than they were.
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

// unchanged returns what is at path, if that is the file that was opened.
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

// links are those that must be in the trail.
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

// regular returns an error if there is something at name that is no regular file: to
// open a pipe could take forever.
func regular(name string) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s, which says how far the audit trail has reached, is not a regular file: remove it", name)
	}
	return nil
}

// anchorForm has a number and a hash, and always the same length.
const anchorForm = "stet trail %020d:%s\n"

// readAnchor returns the zero Link where there is no anchor.
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

// wrote notes that last is in the trail. durable says that it survives a loss of
// power.
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

// settle notes in the anchor what is not noted yet. It is for the end of the
// process, when the trail is known to be whole.
func (g *guard) settle() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.known == g.anchored {
		return nil
	}
	return g.advance(false)
}

// advance notes known in the anchor, unless a later entry is noted there. The caller
// holds mu.
func (g *guard) advance(durable bool) error {
	if on, err := readAnchor(g.anchor); err == nil && on.Seq > g.known.Seq {
		g.anchored = g.known
		return nil
	}
	return g.note(durable)
}

// writable returns an error if the anchor could not be written after a commit.
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

// note writes the anchor, after what it says is on the disk. The caller holds mu.
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

// writeAnchor writes in place: a loss of power leaves the line before or this
// one. Only of a new file the line must reach the disk together with the file.
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

// accept takes last for the end of the trail, whatever was known of it.
func (g *guard) accept(last record.Link) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known, g.knownAt = last, time.Now().Round(0)
	return g.note(true)
}

// prunable reports whether pruning may have removed the entry of l.
func (g *guard) prunable(l record.Link) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return l == g.known && time.Now().Round(0).Sub(g.knownAt) > 24*time.Hour
}

// queryer is a database, a connection or a transaction.
type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// holds reports ErrLost unless l is in the trail or, where it is prunable, among what
// was pruned.
func holds(ctx context.Context, q queryer, l record.Link, prunable bool) error {
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

// CheckTrail says whether entries can be added to the trail as far as that shows
// without adding one: record.ErrLost if it has lost some. It is quick.
func (s *Store) CheckTrail(ctx context.Context) error {
	return s.explain("look at", s.whole(ctx, s.db))
}

// whole reports ErrLost if an entry that must be in the trail is not.
func (s *Store) whole(ctx context.Context, q queryer) error {
	if err := s.guard.files(); err != nil {
		return err
	}
	links, err := s.guard.links()
	if err != nil {
		return err
	}
	for _, l := range links {
		if err := holds(ctx, q, l, s.guard.prunable(l)); err != nil {
			return err
		}
	}
	return nil
}

// AcceptLoss writes down that a person, by, has taken note that entries are
// lost, and returns the entry. From there on the trail takes entries again; other
// processes that have it open must be started again. Where nothing is lost it
// writes nothing, and returns the zero Entry.
func (s *Store) AcceptLoss(ctx context.Context, by string) (record.Entry, error) {
	e, err := s.acceptLoss(ctx, by)
	return e, s.explain("append to", err)
}

func (s *Store) acceptLoss(ctx context.Context, by string) (e record.Entry, err error) {
	tx, err := s.synced.BeginTx(ctx, nil)
	if err != nil {
		return e, err
	}
	defer func() { _ = tx.Rollback() }() // nothing is left to do after a commit
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
