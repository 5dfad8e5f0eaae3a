package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// check runs every rule that needs only the source. It returns the findings, one on each line: the place, then what is wrong.
func check(t *tree) []string {
	var found []string
	for _, p := range t.sorted() {
		report := func(pos token.Pos, format string, args ...any) {
			at := t.fset.Position(pos)
			found = append(found, fmt.Sprintf("%s:%d: ", at.Filename, at.Line)+fmt.Sprintf(format, args...))
		}
		checkImports(p, report)
		checkPackage(p, report)
		for _, f := range p.files {
			checkSize(t, f, report)
			if !f.test {
				checkDisk(p, f, report)
				checkNames(p, f, report)
			}
		}
	}
	return append(found, checkUsers(t)...)
}

type reporter func(pos token.Pos, format string, args ...any)

// checkImports checks a package's imports against the table. Tests may import any package, because no package depends on a test.
func checkImports(p *pkg, report reporter) {
	r, ok := rowOf(p.path)
	if !ok && p.path != "." {
		report(p.files[0].ast.Package, "package %s is not in the table of internal/archtest", p.path)
		return
	}
	for _, f := range p.files {
		if f.test {
			continue
		}
		for _, s := range f.ast.Imports {
			imported, _ := strconv.Unquote(s.Path.Value)
			ours, ok := strings.CutPrefix(imported, module+"/")
			if !ok {
				continue
			}
			below := slices.Contains(r.may, "*")
			at := levelOf(ours)
			if below && at >= 0 && at < levelOf(p.path) || at == 0 && levelOf(p.path) > 0 {
				continue
			}
			if !matchesAny(r.may, ours) {
				report(s.Pos(), "%s may not import %s: %s", p.path, ours, r.reason)
			}
		}
	}
}

// unused finds permissions in the table that no package uses. A row for several packages is used if one of them uses it.
func unused(t *tree) (found []string) {
	for _, r := range table {
		for _, may := range r.may {
			if may != "*" && !uses(t, r, may) {
				found = append(found, fmt.Sprintf("%s may import %s, but does not: remove that from the table", r.path, may))
			}
		}
	}
	return found
}

// uses reports whether a package of row r imports a package that may covers.
func uses(t *tree, r row, may string) bool {
	for _, p := range t.pkgs {
		if of, ok := rowOf(p.path); !ok || of.path != r.path {
			continue
		}
		for _, f := range p.files {
			for _, imported := range f.imports() {
				if ours, ok := strings.CutPrefix(imported, module+"/"); ok && !f.test && matches(may, ours) {
					return true
				}
			}
		}
	}
	return false
}

// checkPackage requires one package comment, and a package name that describes its content. A package with only tests needs
// neither.
func checkPackage(p *pkg, report reporter) {
	documented, first := false, token.NoPos
	for _, f := range p.files {
		if f.test {
			continue
		}
		if first == token.NoPos {
			first = f.ast.Package
			if name := f.ast.Name.Name; slices.Contains(forbiddenNames, name) {
				report(first, "package name %s does not describe its content", name)
			}
		}
		if f.ast.Doc != nil && strings.TrimSpace(f.ast.Doc.Text()) != "" {
			documented = true
		}
	}
	if first != token.NoPos && !documented {
		report(first, "package %s has no comment", p.path)
	}
}

func checkSize(t *tree, f *file, report reporter) {
	if n := bytes.Count(f.src, []byte("\n")); n > maxFile {
		report(f.ast.Package, "file has %d lines, the limit is %d", n, maxFile)
	}
	if f.test {
		return
	}
	for _, d := range f.ast.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		if n := t.fset.Position(fn.End()).Line - t.fset.Position(fn.Pos()).Line + 1; n > maxFunc {
			report(fn.Pos(), "func %s has %d lines, the limit is %d", fn.Name.Name, n, maxFunc)
		}
	}
}

// checkDisk finds calls that touch the file system in packages that must not.
func checkDisk(p *pkg, f *file, report reporter) {
	if matchesAny(diskPackages, p.path) || matches("test/*", p.path) {
		return
	}
	imports := f.imports()
	ast.Inspect(f.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if !ok {
			return true
		}
		from := imports[x.Name]
		calls := diskCalls[from]
		if slices.Contains(calls, sel.Sel.Name) || slices.Contains(calls, "*") {
			report(sel.Pos(), "%s touches the disk with %s.%s", p.path, from, sel.Sel.Name)
		}
		return true
	})
}

var namePattern = regexp.MustCompile(`(?i)` + strings.Join(longNames, "|") + `|\b(?:` + strings.Join(shortNames, "|") + `)\b`)

// checkNames finds names of providers and agents in identifiers, strings and comments. It ignores import paths.
func checkNames(p *pkg, f *file, report reporter) {
	if matchesAny(namingPackages, p.path) {
		return
	}
	look := func(pos token.Pos, text, where string) {
		if name := namePattern.FindString(text); name != "" {
			report(pos, "%s names %q in %s", p.path, name, where)
		}
	}
	look(f.ast.Name.Pos(), f.ast.Name.Name, "its package clause")
	for _, group := range f.ast.Comments {
		for _, c := range group.List {
			look(c.Pos(), c.Text, "a comment")
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.CommentGroup:
			return false
		case *ast.Ident:
			look(n.Pos(), words(n.Name), "an identifier")
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				look(n.Pos(), n.Value, "a string")
			}
		}
		return true
	})
}

var camel = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// words returns an identifier followed by the same identifier split into words, so that names are found whole and as separate
// words.
func words(ident string) string {
	split := camel.ReplaceAllString(strings.ReplaceAll(ident, "_", " "), "$1 $2")
	return ident + " " + split
}
