package snapshot

import (
	"path"
	"strings"
	"sync"
)

// class says how much of a file is worth keeping.
type class uint8

const (
	ordinary class = iota // the content is kept
	ignored               // by git's rules: kept as far as the budget goes
	bulk                  // made by a program, and large: only names and stamps are known
)

// bulkDirs are directories that package managers and compilers fill. What is in them can be made again.
var bulkDirs = map[string]bool{
	"node_modules": true, "bower_components": true, ".venv": true, "venv": true, "__pycache__": true, ".tox": true, ".mypy_cache": true, ".pytest_cache": true,
	".ruff_cache": true, "target": true, "build": true, "dist": true, "out": true, ".gradle": true, ".next": true, ".nuxt": true, ".cache": true,
	".turbo": true, "Pods": true, "DerivedData": true, ".terraform": true, "coverage": true, ".hg": true, ".svn": true, ".jj": true,
}

// always are bulk directories even where git does not ignore them, if the commit has nothing in them.
var always = map[string]bool{"node_modules": true, ".venv": true, "__pycache__": true, ".hg": true, ".svn": true, ".jj": true}

// classOf returns the class of a path in a directory.
func (t *Tree) classOf(parent *dir, p string, isDir bool) class {
	name := path.Base(p)
	c := parent.class
	if c == ordinary && parent.rules.Ignored(p, isDir) {
		c = ignored
	}
	if isDir && (c == ignored && bulkDirs[name] || c == ordinary && always[name]) && !t.git.tree(p).known() {
		c = bulk
	}
	return c
}

// Limits of what is kept, in bytes.
const (
	maxContent  = 128 << 20 // one file
	maxPrecious = 256 << 20 // ignored files that nobody can make again
	maxIgnored  = 64 << 20  // other ignored files
	maxSmall    = 1 << 20   // one of the other ignored files
	maxFiles    = 10_000    // the number of the other ignored files
)

// budget counts the ignored files that are kept.
type budget struct {
	mu              sync.Mutex
	precious, small int64 // bytes
	files           int
}

type paid uint8

const (
	free paid = iota
	fromPrecious
	fromSmall
)

// take takes capacity for an ignored file, in the place of what it had taken before. free: there is none.
func (b *budget) take(old file, name string, size int64) paid {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.back(old)
	switch {
	case precious(name) && b.precious+size <= maxPrecious:
		b.precious += size
		return fromPrecious
	case size <= maxSmall && b.small+size <= maxIgnored && b.files < maxFiles:
		b.small, b.files = b.small+size, b.files+1
		return fromSmall
	}
	return free
}

func (b *budget) giveBack(f file) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.back(f)
}

func (b *budget) back(f file) {
	switch f.paid {
	case fromPrecious:
		b.precious -= f.stamp.size
	case fromSmall:
		b.small, b.files = b.small-f.stamp.size, b.files-1
	}
}

// precious reports whether an ignored file holds what only a person can write again: secrets, local settings, databases.
func precious(name string) bool {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, ".env") || strings.Contains(name, ".local.") || strings.HasSuffix(name, ".local") {
		return true
	}
	name = strings.TrimSuffix(strings.TrimSuffix(name, "-wal"), "-shm")
	switch path.Ext(name) {
	case ".sqlite", ".sqlite3", ".db", ".db3", ".pem", ".key", ".ini", ".toml", ".yaml", ".yml", ".json", ".conf", ".cfg", ".properties", ".tfstate", ".tfvars":
		return true
	}
	return false
}
