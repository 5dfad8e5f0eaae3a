package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what is found into testdata")

func root(t *testing.T) string {
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestHouse checks this module against the table and the rules.
func TestHouse(t *testing.T) {
	tr, err := load(os.DirFS(root(t)))
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.pkgs) < 8 {
		t.Fatalf("only %d packages found: the walk is broken", len(tr.pkgs))
	}
	for _, problem := range slices.Concat(check(tr), unused(tr), checkLids(tr)) {
		t.Error(problem)
	}
	t.Logf("lines by group:\n%s", lidTable(tr))
}

// TestPicture compares the picture of the groups in DESIGN.md with the imports.
func TestPicture(t *testing.T) {
	tr, err := load(os.DirFS(root(t)))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(root(t), "DESIGN.md")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)(draws it\\):\n\n```\n).*?(```)")
	want := block.ReplaceAllString(string(text), "${1}"+picture(tr)+"${2}")
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatalf("the picture in DESIGN.md is not what the imports are:\n%s", picture(tr))
	}
	if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestApart limits what stands beside the product: the module bench, suites and rigs, and the source of the page.
func TestApart(t *testing.T) {
	lines := 0
	for dir, ends := range map[string][]string{"bench": {".go"}, "test": {".go"}, "server/web/ui/src": {".ts", ".svelte", ".css"}} {
		err := filepath.WalkDir(filepath.Join(root(t), dir), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == "node_modules" {
				return fs.SkipDir
			}
			if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") || !slices.Contains(ends, filepath.Ext(path)) {
				return err
			}
			text, err := os.ReadFile(path)
			lines += bytes.Count(text, []byte("\n"))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if t.Logf("%d of %d lines", lines, maxApart); lines == 0 || lines > maxApart {
		t.Errorf("bench, suites and page have %d lines, the lid is %d", lines, maxApart)
	}
}

// TestLidsFail shows that each lid can fail.
func TestLidsFail(t *testing.T) {
	long := strings.Repeat("\n", 600)
	files := fstest.MapFS{"tool/tool.go": {Data: []byte("package tool\n" + long)}, "tool/tool_test.go": {Data: []byte("package tool\n" + strings.Repeat("\n", maxTests))}}
	for i := range maxPackages {
		files[fmt.Sprintf("cmd/p%d/p.go", i)] = &fstest.MapFile{Data: []byte("package p\n" + strings.Repeat(long, 3))}
	}
	tr, err := load(files)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(checkLids(tr), "\n")
	for _, want := range []string{"lines of tool: 601, the lid is", "lines of cmd: ", "lines of the product: ", "lines of tests: ", "packages: "} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
}

// TestUnusedFails shows that an unused permission is found.
func TestUnusedFails(t *testing.T) {
	files := fstest.MapFS{"files/freshness/f.go": {Data: []byte("// Package freshness imports nothing.\npackage freshness\n")}}
	tr, err := load(files)
	if err != nil {
		t.Fatal(err)
	}
	if got := unused(tr); !slices.Contains(got, "files/freshness may import files/workspace, but does not: remove that from the table") {
		t.Errorf("found: %q", got)
	}
}

// TestWeight checks everything that the groups up to lightGroup import, directly or not.
func TestWeight(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports", "./...")
	cmd.Dir = root(t)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	g := graph{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		g[p.ImportPath] = p.Imports
	}
	if len(g[module+"/llm"]) == 0 {
		t.Fatal("the list lacks our own packages")
	}
	for _, problem := range checkWeight(g) {
		t.Error(problem)
	}
}

// TestRulesFail shows that every rule can fail. Each archive in testdata is a small module, and its file "want" has the expected
// findings.
func TestRulesFail(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal(err, "no archives")
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files, want := fstest.MapFS{}, ""
			wantAt := -1
			for i, f := range ar.Files {
				if f.Name == "want" {
					want, wantAt = string(f.Data), i
					continue
				}
				files[f.Name] = &fstest.MapFile{Data: f.Data}
			}
			tr, err := load(files)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, problem := range check(tr) {
				got += problem + "\n"
			}
			if got == want {
				return
			}
			if !*update || wantAt < 0 {
				t.Fatalf("found:\n%swant:\n%s", got, want)
			}
			ar.Files[wantAt].Data = []byte(got)
			if err := os.WriteFile(name, txtar.Format(ar), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestWeightFails(t *testing.T) {
	g := graph{
		module + "/llm":          {"fmt", module + "/tool"},
		module + "/tool":         {"example.com/x"},
		"example.com/x":          {"modernc.org/sqlite"},
		module + "/store/sqlite": {"modernc.org/sqlite"},
		module + "/files/policy": {"net/http"},
		module + "/llm/endpoint": {"net/http"},
	}
	want := "files/policy pulls in net/http\n" +
		"llm pulls in github.com/stet-dev/stet/tool -> example.com/x -> modernc.org/sqlite\n" +
		"tool pulls in example.com/x -> modernc.org/sqlite"
	if got := strings.Join(checkWeight(g), "\n"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestSizesFail is separate, because a file of 801 lines would not fit into testdata.
func TestSizesFail(t *testing.T) {
	long := "// Package tool is long.\npackage tool\n\nfunc f() {\n" + strings.Repeat("\n", 800) + "}\n"
	tr, err := load(fstest.MapFS{"tool/tool.go": {Data: []byte(long)}})
	if err != nil {
		t.Fatal(err)
	}
	want := "tool/tool.go:2: file has 805 lines, the limit is 800\n" +
		"tool/tool.go:4: func f has 802 lines, the limit is 100"
	if got := strings.Join(check(tr), "\n"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestTable checks the table itself: imports only go down.
func TestTable(t *testing.T) {
	for _, r := range table {
		if r.reason == "" {
			t.Errorf("%s has no reason", r.path)
		}
		for _, m := range r.may {
			if m == "*" {
				continue
			}
			if to, from := levelOf(m), levelOf(r.path); to < 0 || to > from {
				t.Errorf("%s may import %s: arrows go down", r.path, m)
			}
		}
	}
}
