package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// tree is the module's own source: its packages by path, relative to the module.
type tree struct {
	fset *token.FileSet
	pkgs map[string]*pkg
}

// pkg has the files of one directory, including external test files (package x_test).
type pkg struct {
	path  string
	files []*file
}

// file is one parsed file.
type file struct {
	name string // relative to the module
	test bool
	src  []byte
	ast  *ast.File
}

// load parses every Go file under fsys, except files that the go command ignores and nested modules.
func load(fsys fs.FS) (*tree, error) {
	t := &tree{fset: token.NewFileSet(), pkgs: map[string]*pkg{}}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(fsys, name)
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		return t.add(fsys, name)
	})
	return t, err
}

func skip(fsys fs.FS, dir string) error {
	base := path.Base(dir)
	if dir == "." {
		return nil
	}
	if base[0] == '.' || base[0] == '_' || base == "testdata" || base == "node_modules" || dir == "bin" {
		return fs.SkipDir
	}
	if _, err := fs.Stat(fsys, path.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func (t *tree) add(fsys fs.FS, name string) error {
	src, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	parsed, err := parser.ParseFile(t.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir := path.Dir(name)
	p := t.pkgs[dir]
	if p == nil {
		p = &pkg{path: dir}
		t.pkgs[dir] = p
	}
	p.files = append(p.files, &file{name: name, test: strings.HasSuffix(name, "_test.go"), src: src, ast: parsed})
	return nil
}

// sorted returns the packages in the order of their paths.
func (t *tree) sorted() []*pkg {
	var all []*pkg
	for _, p := range t.pkgs {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *pkg) int { return strings.Compare(a.path, b.path) })
	return all
}

// imports returns the import paths of f, by their names in f.
func (f *file) imports() map[string]string {
	m := map[string]string{}
	for _, s := range f.ast.Imports {
		p, _ := strconv.Unquote(s.Path.Value)
		name := path.Base(p)
		if s.Name != nil {
			name = s.Name.Name
		}
		m[name] = p
	}
	return m
}

// matches reports whether the package at path is p, or below p if p ends in "/*".
func matches(p, path string) bool {
	if dir, ok := strings.CutSuffix(p, "/*"); ok {
		return strings.HasPrefix(path, dir+"/")
	}
	return p == path
}

func matchesAny(ps []string, path string) bool {
	return slices.ContainsFunc(ps, func(p string) bool { return matches(p, path) })
}

// rowOf returns the table's row for a package: the row with its name, or else the first row that covers it.
func rowOf(path string) (row, bool) {
	for _, r := range table {
		if r.path == path {
			return r, true
		}
	}
	for _, r := range table {
		if matches(r.path, path) {
			return r, true
		}
	}
	return row{}, false
}
