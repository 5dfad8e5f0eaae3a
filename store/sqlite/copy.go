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

// dropping are the migrations that remove what was stored. They are not made where the file cannot be copied.
var dropping = []int64{19}

// drops reports whether one of the migrations to be made removes something.
func drops(ctx context.Context, p *goose.Provider) (bool, error) {
	all, err := p.Status(ctx)
	return slices.ContainsFunc(all, func(m *goose.MigrationStatus) bool {
		return m.State == goose.StatePending && slices.Contains(dropping, m.Source.Version)
	}), err
}

// keptCopies is how many copies of the file are kept, the newest ones.
const keptCopies = 2

// removeCopies removes copies that newer ones follow. What cannot be removed stays.
func (s *Store) removeCopies() {
	all := copies(s.path)
	for _, name := range all[min(keptCopies, len(all)):] {
		_ = os.Remove(name)
	}
}

// copies are the copies of the file at path, that of the newest schema first.
func copies(path string) []string {
	ext := filepath.Ext(path)
	base := strings.TrimSuffix(path, ext)
	all, _ := filepath.Glob(escaped(base) + ".schema-*" + escaped(ext)) // its only error is of the pattern
	version := func(name string) (n int) {
		n, _ = strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(name, base+".schema-"), ext))
		return n // 0 is none of ours
	}
	all = slices.DeleteFunc(all, func(name string) bool { return version(name) == 0 })
	slices.SortFunc(all, func(a, b string) int { return version(b) - version(a) })
	return all
}

// escaped is a name in which no character has a meaning for filepath.Glob.
func escaped(name string) string {
	return strings.NewReplacer("[", "[[]", "*", "[*]", "?", "[?]").Replace(name)
}

// CopyFile is where the file at path is copied to before its schema, of this
// version, changes.
func CopyFile(path string, version int64) string {
	ext := filepath.Ext(path)
	return fmt.Sprintf("%s.schema-%d%s", strings.TrimSuffix(path, ext), version, ext)
}

// copyTo makes a whole copy of the database at path, which only its owner can
// read. A copy that is there already is replaced. The copy survives a power cut.
func (s *Store) copyTo(ctx context.Context, path string) (err error) {
	half := path + "-half"
	if err := os.Remove(half); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(half, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // SQLite fills a file that is empty
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
	_ = dir.Sync() // some file systems cannot
	return dir.Close()
}
