package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// requirementID matches the id of a requirement. A group whose work has not landed has no rows in the list yet.
var requirementID = regexp.MustCompile(`\b(TRK|TRIM|FILE|READ|CTX|WIRE|BILL|SAME|GRD|LIVE)-[0-9]+\b`)

// TestRequirements checks the list of requirements against the tests that name them. With -v it prints which test proves which
// requirement.
func TestRequirements(t *testing.T) {
	tree := os.DirFS(root(t))
	list, err := fs.ReadFile(tree, "docs/requirements.md")
	if err != nil {
		t.Fatal(err)
	}
	proofs, err := requirementTests(tree)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		if !strings.HasPrefix(line, "| ") || !requirementID.MatchString(line) {
			continue
		}
		id := requirementID.FindString(line)
		known[id] = true
		t.Logf("%s", strings.Trim(line, "|\n "))
		for _, test := range proofs[id] {
			t.Logf("    %s", test)
		}
		if len(proofs[id]) == 0 {
			t.Errorf("%s: no test names it", id)
		}
	}
	if len(known) < 77 {
		t.Errorf("only %d requirements found", len(known))
	}
	for _, id := range slices.Sorted(maps.Keys(proofs)) {
		if !known[id] {
			t.Errorf("%s is not in docs/requirements.md: %v", id, proofs[id])
		}
	}
}

// requirementTests returns the tests that name each id: functions of Go tests, and scripts.
func requirementTests(tree fs.FS) (map[string][]string, error) {
	found := map[string][]string{}
	add := func(text, test string) {
		for _, id := range requirementID.FindAllString(text, -1) {
			if !slices.Contains(found[id], test) {
				found[id] = append(found[id], test)
			}
		}
	}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if base := d.Name(); base == "node_modules" || base == "bin" || len(base) > 1 && base[0] == '.' {
				return fs.SkipDir
			}
			return nil
		}
		isTest := strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, ".go") && strings.HasSuffix(path.Dir(name), "test")
		isScript := path.Ext(name) == ".txtar" || path.Ext(name) == ".mjs"
		if !isTest && !isScript || name == "internal/archtest/requirements_test.go" {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil || isScript {
			add(string(text), name)
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, c := range file.Comments {
			add(c.Text(), name+functionAt(file, c.Pos()))
		}
		ast.Inspect(file, func(n ast.Node) bool { // names of subtests
			if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING {
				add(s.Value, name+functionAt(file, s.Pos()))
			}
			return true
		})
		return nil
	})
	for _, tests := range found {
		slices.Sort(tests)
	}
	return found, err
}

// functionAt returns the name of the function around a position, or of the next function if the position is between two; "" at the
// end of a file.
func functionAt(file *ast.File, at token.Pos) string {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.End() > at {
			return fmt.Sprintf(" %s", f.Name.Name)
		}
	}
	return ""
}

// TestRequirementTests shows what counts as a test of a requirement.
func TestRequirementTests(t *testing.T) {
	files := fstest.MapFS{
		"a/a_test.go":        {Data: []byte("package a\n\n// (CTX-1)\nfunc TestOne() {\n\t// FILE-2\n}\n\nfunc TestTwo() { _ = \"READ-3\" }\n")},
		"a/a.go":             {Data: []byte("package a // CTX-9\n")},
		"a/atest/suite.go":   {Data: []byte("package atest\n\nfunc Suite() {} // TRK-1\n")},
		"script/one.txtar":   {Data: []byte("# TRIM-1, XTRIM-2\n")},
		"node_modules/x.mjs": {Data: []byte("// TRIM-5\n")},
	}
	got, err := requirementTests(files)
	want := "map[CTX-1:[a/a_test.go TestOne] FILE-2:[a/a_test.go TestOne] READ-3:[a/a_test.go TestTwo] TRIM-1:[script/one.txtar] TRK-1:[a/atest/suite.go]]"
	if err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v\n%v, want\n%s", err, got, want)
	}
}
