package agents

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/stet-dev/stet/internal/atomicfile"
	"github.com/stet-dev/stet/internal/jsonc"
)

// replaceFile replaces a file's text atomically, and keeps the old text in a copy next to it. A link stays a link. It returns the
// name of the copy. If the new text is that of an earlier copy but for white space and quotes, the file gets that copy back, and no other copy is
// kept: kept is "" then.
func replaceFile(file string, old, now []byte, existed, private bool) (kept string, err error) {
	mode := fs.FileMode(0o644)
	if existed {
		if file, err = filepath.EvalSymlinks(file); err != nil {
			return "", err
		}
		info, err := os.Stat(file)
		if err != nil {
			return "", err
		}
		mode = info.Mode().Perm()
		if copied := copyOf(file, now); copied != "" {
			return "", os.Rename(copied, file)
		}
		if kept, err = backUp(file, old, mode); err != nil {
			return "", err
		}
	} else if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	if private {
		mode &= 0o700
	}
	return kept, atomicfile.Write(file, now, mode, true)
}

// Copies returns the copies next to a file that were kept when it was replaced.
func Copies(file string) (names []string) {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	for n := 1; n <= maxCopies; n++ {
		if info, err := os.Lstat(copyName(file, n)); err == nil && info.Mode().IsRegular() {
			names = append(names, copyName(file, n))
		}
	}
	return names
}

// maxCopies is how many copies of a file are looked at.
const maxCopies = 100

func copyName(file string, n int) string { return fmt.Sprintf("%s.stet-backup-%d", file, n) }

// copyOf returns the oldest copy of a file that has this text but for white space and quotes; "": none has.
func copyOf(file string, text []byte) string {
	for _, name := range Copies(file) {
		if b, err := os.ReadFile(name); err == nil && sameText(b, text) {
			return name
		}
	}
	return ""
}

// sameText reports whether two texts differ in white space and in the kind of quotes at most, and mean the same in JSON or in TOML.
func sameText(a, b []byte) bool {
	plain := func(t []byte) string { return strings.ReplaceAll(string(bytes.Join(bytes.Fields(t), nil)), "'", `"`) }
	if bytes.Equal(bytes.TrimSpace(a), bytes.TrimSpace(b)) || plain(a) != plain(b) {
		return plain(a) == plain(b)
	}
	for _, unmarshal := range []func([]byte, any) error{jsonc.Unmarshal, toml.Unmarshal} {
		var x, y map[string]any
		if unmarshal(a, &x) == nil && unmarshal(b, &y) == nil {
			return reflect.DeepEqual(x, y)
		}
	}
	return false
}

// backUp writes the old text to the first free name.
func backUp(file string, old []byte, mode fs.FileMode) (string, error) {
	for n := 1; ; n++ {
		name := copyName(file, n)
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(old)
		return name, errors.Join(err, f.Close())
	}
}
