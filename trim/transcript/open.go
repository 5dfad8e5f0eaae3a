package transcript

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/stet-dev/stet/internal/invisible"
)

// Files are opened one by one, or all those of directory trees.

// headBytes is the number of first bytes of a file by which its format is recognised.
const headBytes = 256 << 10

// Opener opens session files. The zero value is ready to use.
type Opener struct {
	// SQLite opens a database file for reading. opencode keeps its sessions in such a file. If SQLite is nil, reading this
	// file is an error. The caller chooses the driver: this package links none.
	SQLite func(path string) (*sql.DB, error)

	// Formats are tried after those of this package.
	Formats []Format
}

// Open reads the sessions in a file. It recognises the format by the content. path may also be a directory: opencode's
// "storage".
//
// The error is ErrFormat (wrapped) for a file in an unknown format, and ErrEmpty (wrapped) for a file without a readable
// message. Damaged lines are not an error: Session.Damaged of the first session lists them.
func (o Opener) Open(path string) ([]*Session, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	var all []*Session
	err = o.each(path, info.IsDir(), func(sessions []*Session, err error) error {
		all = append(all, sessions...)
		if info.IsDir() && Skipped(err) {
			return nil // this is one of several files of the directory
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("read session %s: %w", path, ErrEmpty)
	}
	return all, nil
}

// each calls fn with the sessions of one file or directory, a few at a time.
func (o Opener) each(path string, dir bool, fn func([]*Session, error) error) error {
	switch {
	case dir && isOpencodeStore(path):
		for _, p := range opencodeSessionFiles(path) {
			if err := fn(o.openFile(p)); err != nil {
				return err
			}
		}
		return nil
	case dir:
		f, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("read session: %w", err)
		}
		_ = f.Close() // an error of closing does not matter after reading
		return fmt.Errorf("read session %s: %w: a directory", path, ErrFormat)
	case isDatabase(path):
		return o.database(path, fn)
	}
	return fn(o.openFile(path))
}

// database reads the sessions in an SQLite file.
func (o Opener) database(path string, fn func([]*Session, error) error) error {
	if name := filepath.Base(path); !strings.HasPrefix(name, "opencode") {
		return fmt.Errorf("read session %s: %w: an SQLite database that is not opencode's", path, ErrFormat)
	}
	if o.SQLite == nil {
		return fmt.Errorf("read session %s: %w: opencode's database, and no SQLite driver is linked", path, ErrFormat)
	}
	db, err := o.SQLite(path)
	if err != nil {
		return fmt.Errorf("read session %s: %w", path, err)
	}
	defer db.Close()
	for s, err := range opencodeDB(db, path) {
		if err != nil {
			return err
		}
		if err := fn([]*Session{s}, nil); err != nil {
			return err
		}
	}
	return nil
}

func isDatabase(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	const magic = "SQLite format 3\x00"
	b := make([]byte, len(magic))
	_, err = io.ReadFull(f, b)
	return err == nil && string(b) == magic
}

func (o Opener) openFile(path string) ([]*Session, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	defer f.Close()
	if !compressed(path) {
		size := int64(0)
		if info, err := f.Stat(); err == nil {
			size = info.Size()
		}
		return o.read(path, f, size)
	}
	const window = 128 << 20 // more than any level of zstd needs by default
	z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", path, err)
	}
	defer z.Close()
	return o.read(path, whole{z}, 0)
}

// errCut means that the end of a compressed file is missing.
var errCut = errors.New("the compressed file is cut off")

// whole is a compressed file that should be whole.
type whole struct{ io.Reader }

func (w whole) Read(b []byte) (int, error) {
	n, err := w.Reader.Read(b)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errCut
	}
	return n, err
}

// compressed reports whether a file is compressed with zstd, as Codex does with old sessions.
func compressed(path string) bool { return strings.EqualFold(filepath.Ext(path), ".zst") }

// read reads the sessions of one file. size is in bytes; 0: not known.
func (o Opener) read(path string, r io.Reader, size int64) ([]*Session, error) {
	head := make([]byte, headBytes)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && (n == 0 || !errors.Is(err, errCut)) {
		return nil, fmt.Errorf("read session %s: %w", path, err)
	}
	if n == 0 {
		return nil, fmt.Errorf("read session %s: %w: the file is empty", path, ErrEmpty)
	}
	start := n - len(invisible.SkipMark(head[:n]))
	f, ok := o.detect(head[start:n])
	if !ok {
		return nil, fmt.Errorf("read session %s: %w; stet reads %s",
			path, ErrFormat, strings.Join(o.formatNames(), ", "))
	}
	src := &File{path: path, format: f.Name, product: f.Agent, r: io.MultiReader(bytes.NewReader(head[start:n]), r), size: int(size)}
	sessions, err := f.Read(src)
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", path, err)
	}
	return src.finish(sessions)
}

// Walk opens the files in paths, one after the other, and calls fn with the sessions of each. For a directory it opens the
// files in it and in all its subdirectories. If err is ErrFormat or ErrEmpty (wrapped), the file was skipped, and err has
// the reason. Any other err is a failure to read this file. For a database or directory with several sessions, fn is called
// more than once. Walk ends with the first error that fn returns, and returns it.
//
// In directories, some files are skipped without a call of fn: files whose names are not those of session files (Likely),
// and files without an extension in an unknown format. A file that is in several of the paths is opened once.
func (o Opener) Walk(paths []string, fn func(path string, sessions []*Session, err error) error) error {
	w := walk{Opener: o, several: len(paths) > 1, seen: map[string]bool{}}
	for _, root := range paths {
		info, err := os.Stat(root)
		switch {
		case err != nil:
			err = fn(root, nil, fmt.Errorf("read session: %w", err))
		case info.IsDir():
			err = w.dir(root, fn)
		default:
			err = w.file(root, false, fn)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// walk is the state of a Walk.
type walk struct {
	Opener
	several bool            // there are several paths
	seen    map[string]bool // if several: the visited files and directories, by their paths without links
}

func (w *walk) dir(root string, fn func(string, []*Session, error) error) error {
	if info, err := os.Lstat(root); err == nil && !info.IsDir() { // WalkDir does not follow a link
		if target, err := filepath.EvalSymlinks(root); err == nil {
			root = target
		}
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fn(path, nil, fmt.Errorf("read session: %w", err))
		case d.IsDir() && isOpencodeStore(path):
			if err := w.file(path, true, fn); err != nil {
				return err
			}
			return fs.SkipDir
		case d.IsDir():
			if path != root && (d.Name() == ".git" || d.Name() == "node_modules") {
				return fs.SkipDir
			}
			return nil
		case !Likely(d.Name()):
			return nil
		case !d.Type().IsRegular():
			return fn(path, nil, fmt.Errorf("read session %s: %w: not a regular file", path, ErrFormat))
		case filepath.Ext(path) != "":
			return w.file(path, false, fn)
		}
		return w.file(path, false, func(path string, sessions []*Session, err error) error {
			if errors.Is(err, ErrFormat) {
				return nil // for example a licence or a makefile
			}
			return fn(path, sessions, err)
		})
	})
}

// again reports whether a file was visited before.
func (w *walk) again(path string) bool {
	if !w.several {
		return false
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	defer func() { w.seen[path] = true }()
	return w.seen[path]
}

// file calls fn with the sessions of one file or directory. It returns an error of fn. It passes an error of the file to
// fn.
func (w *walk) file(path string, dir bool, fn func(string, []*Session, error) error) error {
	if w.again(path) {
		return nil
	}
	var stop error
	err := w.each(path, dir, func(sessions []*Session, err error) error {
		file := path
		if len(sessions) > 0 {
			file = sessions[0].File
		}
		stop = fn(file, sessions, err)
		return stop
	})
	if stop != nil || err == nil {
		return stop
	}
	return fn(path, nil, err)
}

// Likely reports whether a file in a directory may hold sessions, by its name without the directory. Hidden files and files
// with other extensions do not.
func Likely(name string) bool {
	if compressed(name) {
		name = strings.TrimSuffix(name, filepath.Ext(name))
	}
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json", ".jsonl", ".traj", ".ndjson", ".db", "":
		return !strings.HasPrefix(name, ".")
	}
	return false
}

// Skipped reports whether an error that Walk passed to fn means that the file holds no session.
func Skipped(err error) bool { return errors.Is(err, ErrFormat) || errors.Is(err, ErrEmpty) }
