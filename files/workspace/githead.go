package workspace

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/stet-dev/stet/internal/atomicfile"
)

// besideHead are names that git obeys in a directory with a HEAD file. They configure programs that git runs (hooks,
// filters, aliases), or they name another directory with such files.
var besideHead = []string{"config", "config.worktree", "commondir", "gitdir", "hooks", "info"}

// underHead reports whether a path leads through one of besideHead in a directory that has a HEAD file. Such a directory is
// a bare repository, or the directory that a work tree's .git file points to. dirs are the root and the existing
// directories on the way.
func underHead(canonical string, dirs []*atomicfile.Dir) bool {
	parts := strings.Split(fold(canonical), "/")
	for i, d := range dirs[:min(len(dirs), len(parts))] {
		if !slices.Contains(besideHead, parts[i]) {
			continue
		}
		if _, err := d.Stat("HEAD"); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// class returns the class of a canonical path, by its name and by the directories on the way, which are the root and the existing
// ones. missing says that nothing is at the path.
func (r *Root) class(canonical string, dirs []*atomicfile.Dir, missing bool) Class {
	found := r.rules.byName(canonical)
	if found < Control && (underHead(canonical, dirs) || missing && newSetting(canonical, len(dirs)-1)) {
		found = Control
	}
	return found
}
