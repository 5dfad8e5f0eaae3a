package demo

import (
	"bytes"
	"embed"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// sample is what the demo reads where the working directory has nothing to
// read.
//
//go:embed sample
var sample embed.FS

// File is a file of the demo's session.
type File struct {
	Name string // relative, with slashes
	Text []byte
}

// The demo's files: long enough to be worth a line, short enough to look at.
const (
	minBytes   = 1 << 10
	maxBytes   = 24 << 10
	bestBytes  = 8 << 10
	maxEntries = 4000 // entries of a tree that are looked at
)

// chooseFiles chooses two files below dir, the ones nearest to bestBytes; those
// of the sample, if dir is in no project or has no two. from says where they
// are from.
func chooseFiles(dir string) (files []File, from string) {
	if inProject(dir) {
		if files = textFiles(os.DirFS(dir)); len(files) >= 2 {
			return files[:2], dir
		}
	}
	inside, err := fs.Sub(sample, "sample")
	if err != nil {
		panic(err) // the path is valid and embedded
	}
	return textFiles(inside)[:2], "a small sample (there is no source here to read)"
}

// inProject reports whether dir is a project's, or below one. The demo does not
// look for files in a home directory.
func inProject(dir string) bool {
	for {
		for _, mark := range []string{".git", "go.mod", "package.json", "pyproject.toml", "Cargo.toml"} {
			if _, err := os.Stat(filepath.Join(dir, mark)); err == nil {
				return true
			}
		}
		up := filepath.Dir(dir)
		if up == dir {
			return false
		}
		dir = up
	}
}

// textFiles lists the text files of a tree that suit the demo, the best first.
// What cannot be read is left out.
func textFiles(tree fs.FS) []File {
	var found []File
	left := maxEntries
	_ = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		left--
		switch base := path.Base(name); {
		case left < 0:
			return fs.SkipAll
		case err != nil:
			return nil
		case d.IsDir():
			if name != "." && (strings.HasPrefix(base, ".") || slices.Contains([]string{"node_modules", "vendor", "bin", "dist", "target"}, base)) {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular() || !slices.Contains(sourceNames, path.Ext(base)):
			return nil
		}
		info, err := d.Info()
		if err != nil || info.Size() < minBytes || info.Size() > maxBytes {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err == nil && utf8.Valid(text) && bytes.Count(text, []byte("\n")) >= 40 {
			found = append(found, File{name, text})
		}
		return nil
	})
	slices.SortStableFunc(found, func(a, b File) int { return a.distance() - b.distance() })
	return found
}

// distance says how far a file is from what the demo would like to show.
func (f File) distance() int {
	d := max(len(f.Text)-bestBytes, bestBytes-len(f.Text))
	if strings.Contains(f.Name, "test") {
		d += maxBytes
	}
	return d
}

// sourceNames are the endings of files that an agent might well read.
var sourceNames = []string{
	".go", ".py", ".js", ".ts", ".tsx", ".jsx", ".rs", ".java", ".c", ".h", ".cc", ".cpp", ".rb", ".php", ".cs", ".kt",
	".swift", ".scala", ".sh", ".sql", ".md",
}

// copyFiles writes files into a new directory, which the caller removes.
func copyFiles(files []File) (dir string, err error) {
	dir, err = os.MkdirTemp("", "stet-demo-")
	if err != nil {
		return "", err
	}
	for _, f := range files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return dir, err
		}
		if err := os.WriteFile(name, f.Text, 0o600); err != nil {
			return dir, err
		}
	}
	return dir, nil
}

// uniqueLine returns the first line of at least 20 bytes that stands in text
// once, without its line break.
func uniqueLine(text []byte) string {
	for line := range bytes.Lines(text) {
		s := strings.TrimRight(string(line), "\r\n")
		if len(strings.TrimSpace(s)) >= 20 && bytes.Count(text, []byte(s)) == 1 {
			return s
		}
	}
	return ""
}
