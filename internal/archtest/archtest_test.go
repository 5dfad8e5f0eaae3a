package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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
	for _, problem := range append(check(tr), unused(tr)...) {
		t.Error(problem)
	}
}

// TestUnusedFails shows that an unused permission is found.
func TestUnusedFails(t *testing.T) {
	files := fstest.MapFS{"freshness/f.go": {Data: []byte("// Package freshness imports nothing.\npackage freshness\n")}}
	tr, err := load(files)
	if err != nil {
		t.Fatal(err)
	}
	if got := unused(tr); !slices.Contains(got, "freshness may import workspace, but does not: remove that from the table") {
		t.Errorf("found: %q", got)
	}
}

// TestWeight checks everything that levels 0 to 3 import, directly or not.
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
		module + "/policy":       {"net/http"},
		module + "/mcpclient":    {"net/http"},
	}
	want := "llm (level 1) pulls in github.com/stet-dev/stet/tool -> example.com/x -> modernc.org/sqlite\n" +
		"policy (level 1) pulls in net/http\n" +
		"tool (level 0) pulls in example.com/x -> modernc.org/sqlite"
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
			if m == "*" || m == "internal/*" || m == "llm/*" {
				continue
			}
			to, ok := rowOf(m)
			if !ok {
				t.Errorf("%s may import %s, which has no row", r.path, m)
			} else if to.level > r.level {
				t.Errorf("%s (level %d) may import %s (level %d): arrows go down", r.path, r.level, m, to.level)
			}
		}
	}
}
