package workspace

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/stet-dev/stet/internal/atomicfile"
)

// besideHead are the names that git obeys in a directory with a HEAD: what
// they hold runs programs (hooks, filters, aliases), or says where else to look
// for that.
var besideHead = []string{"config", "config.worktree", "commondir", "gitdir", "hooks", "info"}

// underHead reports whether a path leads through one of besideHead in a
// directory that has a HEAD: a bare repository of any name, or what
// a work tree's .git file points to. dirs are the root and the directories
// entered on the way, as far as they are there.
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

// class is the class of a canonical path by its name, and by the directories entered
// on the way to it.
func (r *Root) class(canonical string, dirs []*atomicfile.Dir) Class {
	found := r.rules.byName(canonical)
	if found < Control && underHead(canonical, dirs) {
		found = Control
	}
	return found
}
