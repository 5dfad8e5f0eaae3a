package archtest

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// wellKnown are methods that interfaces of the standard library call. A search for users does not find these calls.
var wellKnown = []string{
	"Error", "String", "Unwrap", "Is", "As", "Read", "Write", "Close", "Len", "Less", "Swap",
	"ServeHTTP", "RoundTrip", "Format", "GoString", "LogValue", "Scan", "Value", "Set", "Type",
	"MarshalJSON", "UnmarshalJSON", "Init", "SetStdin", "SetStdout", "SetStderr", "MarshalText", "UnmarshalText",
}

// checkUsers finds exported names below internal and in cmd that no other package uses. No other module can import a command, so
// its methods are exported only for interfaces.
func checkUsers(t *tree) []string {
	var found []string
	for _, p := range t.sorted() {
		inside := strings.Contains("/"+p.path, "/internal/")
		if !inside && !matches("cmd/*", p.path) {
			continue
		}
		if inside && !imported(t, p) {
			at := t.fset.Position(p.files[0].ast.Package)
			found = append(found, fmt.Sprintf("%s:%d: no package imports %s", at.Filename, at.Line, p.path))
			continue
		}
		decls := exported(p)
		used := usedOutside(t, p)
		reach(decls, used)
		for _, d := range decls {
			if !inside && strings.HasPrefix(d.name, ".") {
				continue
			}
			if !used[d.name] {
				at := t.fset.Position(d.ident.Pos())
				found = append(found, fmt.Sprintf("%s:%d: %s is exported and has no user outside %s", at.Filename, at.Line, d.name, p.path))
			}
		}
	}
	return found
}

// imported reports whether another package uses p. A package without exported names, such as a test of the whole module, needs no
// importer.
func imported(t *tree, p *pkg) bool {
	for _, other := range t.pkgs {
		for _, f := range other.files {
			for _, path := range f.imports() {
				if other != p && path == module+"/"+p.path {
					return true
				}
			}
		}
	}
	return len(exported(p)) == 0
}

// decl is an exported name: of a package ("Scan"), or of a method (".Next").
type decl struct {
	name  string
	ident *ast.Ident
	api   []ast.Node // what a user of the name also uses: a signature, a type
}

func exported(p *pkg) []decl {
	var all []decl
	add := func(prefix string, id *ast.Ident, api ...ast.Node) {
		if id.IsExported() {
			all = append(all, decl{prefix + id.Name, id, api})
		}
	}
	for _, f := range p.files {
		if f.test {
			continue
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					add("", d.Name, d.Type)
				} else if !slices.Contains(wellKnown, d.Name.Name) {
					add(".", d.Name, d.Type)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						add("", s.Name, s.Type)
					case *ast.ValueSpec:
						for _, id := range s.Names {
							if s.Type != nil {
								add("", id, s.Type)
							} else {
								add("", id)
							}
						}
					}
				}
			}
		}
	}
	return all
}

// usedOutside returns the names of p, and the selectors that may be its methods, that other packages use, including tests.
func usedOutside(t *tree, p *pkg) map[string]bool {
	used := map[string]bool{}
	for _, other := range t.pkgs {
		if other == p {
			continue
		}
		for _, f := range other.files {
			imports := f.imports()
			ast.Inspect(f.ast, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				used["."+sel.Sel.Name] = true
				if x, ok := sel.X.(*ast.Ident); ok && imports[x.Name] == module+"/"+p.path {
					used[sel.Sel.Name] = true
				}
				return true
			})
		}
	}
	return used
}

// reach adds the names that used names lead to: a caller of a function need not name its result type.
func reach(decls []decl, used map[string]bool) {
	for grown := true; grown; {
		grown = false
		for _, d := range decls {
			if !used[d.name] {
				continue
			}
			for _, node := range d.api {
				ast.Inspect(node, func(n ast.Node) bool {
					id, ok := n.(*ast.Ident)
					if ok && id.IsExported() && !used[id.Name] && declared(decls, id.Name) {
						used[id.Name] = true
						grown = true
					}
					return true
				})
			}
		}
	}
}

func declared(decls []decl, name string) bool {
	return !strings.HasPrefix(name, ".") && slices.ContainsFunc(decls, func(d decl) bool { return d.name == name })
}
