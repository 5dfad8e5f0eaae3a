package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
)

// dropping are the migrations that remove stored data. They are not executed if the file cannot be copied first.
var dropping = []int64{19}

// drops reports whether a pending migration removes stored data.
func drops(ctx context.Context, p *goose.Provider) (bool, error) {
	all, err := p.Status(ctx)
	return slices.ContainsFunc(all, func(m *goose.MigrationStatus) bool {
		return m.State == goose.StatePending && slices.Contains(dropping, m.Source.Version)
	}), err
}

// keptCopies is the number of copies of the file that are kept: the newest ones.
const keptCopies = 2

// removeCopies removes the copies that are older than the newest keptCopies. It ignores errors: a copy that cannot be removed
// stays.
func (s *Store) removeCopies() {
	all := copies(s.path)
	for _, name := range all[min(keptCopies, len(all)):] {
		_ = os.Remove(name)
	}
}

// copies returns the paths of the copies of the file at path, newest schema first.
func copies(path string) []string {
	ext := filepath.Ext(path)
	base := strings.TrimSuffix(path, ext)
	all, _ := filepath.Glob(escaped(base) + ".schema-*" + escaped(ext)) // its only error is a malformed pattern
	version := func(name string) (n int) {
		n, _ = strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(name, base+".schema-"), ext))
		return n // 0: the file is not a copy made by stet
	}
	all = slices.DeleteFunc(all, func(name string) bool { return version(name) == 0 })
	slices.SortFunc(all, func(a, b string) int { return version(b) - version(a) })
	return all
}

// escaped returns name with the special characters of filepath.Glob escaped.
func escaped(name string) string {
	return strings.NewReplacer("[", "[[]", "*", "[*]", "?", "[?]").Replace(name)
}

// CopyFile returns the path of the copy of the file at path. The copy is made before the schema with the number version changes.
func CopyFile(path string, version int64) string {
	ext := filepath.Ext(path)
	return fmt.Sprintf("%s.schema-%d%s", strings.TrimSuffix(path, ext), version, ext)
}

// copyTo makes a complete copy of the database at path. Only the owner can read the copy. An existing copy is replaced. When
// copyTo returns, the copy survives a power failure.
func (s *Store) copyTo(ctx context.Context, path string) (err error) {
	half := path + "-half"
	if err := os.Remove(half); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(half, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // SQLite writes into an existing empty file
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(half)
		}
	}()
	if _, err := s.db.ExecContext(ctx, "VACUUM INTO ?", half); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(half, path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	_ = dir.Sync() // not supported by some file systems
	return dir.Close()
}
