package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/rows"
)

// anchor implements rows.Anchor: a file next to the database. It also checks that the open files are still the files at their paths,
// because writing to a removed file causes no error.
//
// The file holds one line: "stet trail", the number of the newest entry that survives a power failure, in 20 digits, and the hash of
// that entry. It is written in place, after the commit. So the anchor never names an entry that the trail does not have, not even
// after a power failure. It may name an older entry than the newest. A process does not replace the link of a later entry that
// another process has written.
type anchor struct {
	path, name string
	file, wal  os.FileInfo // as they were when they were opened

	mu       sync.Mutex
	size     int64       // smallest size that the file can have, in bytes
	anchored record.Link // the newest entry that this process has written to the anchor
	noted    time.Time   // when anchored was written
}

// AnchorFile returns the path of the anchor for the database at path. The anchor says how far the audit trail has reached.
func AnchorFile(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) + ".anchor" }

// noteEvery is how long entries may wait before they are written to the anchor, if they need not survive a power failure.
const noteEvery = 10 * time.Second

// opened sets the files that are open.
func (g *anchor) opened() (err error) {
	if g.file, err = os.Stat(g.path); err != nil {
		return err
	}
	g.size = g.file.Size()
	g.wal, err = os.Stat(g.path + "-wal")
	if errors.Is(err, fs.ErrNotExist) { // SQLite uses no -wal file on this file system
		return nil
	}
	return err
}

// files returns record.ErrLost if the files at the paths are not the opened files, or if the database file is shorter than
// before.
func (g *anchor) files() error {
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
		return rows.Lost(fmt.Sprintf("%s was cut from %d bytes to %d", filepath.Base(g.path), g.size, file.Size()))
	}
	g.size = file.Size()
	return nil
}

// unchanged returns the file information of path if that is still the opened file.
func unchanged(path string, opened os.FileInfo) (os.FileInfo, error) {
	now, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, rows.Lost(filepath.Base(path) + " was removed while it was open")
	case err != nil:
		return nil, err
	case !os.SameFile(now, opened):
		return nil, rows.Lost(filepath.Base(path) + " was replaced by another file while it was open")
	}
	return now, nil
}

// Noted implements rows.Anchor.
func (g *anchor) Noted(context.Context, rows.Conn, string) (l record.Link, exact bool, err error) {
	l, err = readAnchor(g.name)
	if err == nil {
		err = g.files()
	}
	return l, false, err
}

// Move implements rows.Anchor.
func (g *anchor) Move(record.Link) []rows.Statement { return nil }

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
		return l, rows.Lost(filepath.Base(name) + ", which says how far the trail has reached, is damaged")
	}
	return l, nil
}

// Wrote implements rows.Anchor.
func (g *anchor) Wrote(last record.Link, durable, accepted bool) error {
	g.mu.Lock()
	var err error
	switch {
	case accepted:
		err = g.note(last, true)
	case last != g.anchored && (durable || time.Since(g.noted) >= noteEvery):
		err = g.advance(last, durable)
	}
	g.mu.Unlock()
	if err != nil || accepted {
		return err
	}
	return g.files() // if the file was removed during the write, the entries are not in the trail
}

// settle writes last to the anchor, if it is not there yet. It is called at the end of the process, after a check that the trail is
// whole.
func (g *anchor) settle(last record.Link) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if last == g.anchored {
		return nil
	}
	return g.advance(last, false)
}

// advance writes a link to the anchor, unless the anchor has the link of a later entry. The caller holds mu.
func (g *anchor) advance(last record.Link, durable bool) error {
	if on, err := readAnchor(g.name); err == nil && on.Seq > last.Seq {
		g.anchored = last
		return nil
	}
	return g.note(last, durable)
}

// Writable implements rows.Anchor. The anchor is written after the commit.
func (g *anchor) Writable() error {
	if err := g.files(); err != nil {
		return err
	}
	if err := regular(g.name); err != nil {
		return err
	}
	f, err := os.OpenFile(g.name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// note writes a link to the anchor. Before that it makes sure that the entry is on the disk. The caller holds mu.
func (g *anchor) note(last record.Link, durable bool) error {
	if !durable && g.wal != nil {
		wal, err := os.OpenFile(g.path+"-wal", os.O_RDWR, 0)
		if err != nil {
			return err
		}
		if err := errors.Join(wal.Sync(), wal.Close()); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(g.name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(writeAnchor(f, last), f.Close()); err != nil {
		return err
	}
	g.anchored, g.noted = last, time.Now()
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
