package snapshot

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What users have reported as lost: each is taken back, byte for byte, with modes and links, as a copy has it, and done again. (GRD-3)
func TestReported(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("gofmt"); err != nil {
		t.Skip(err)
	}
	soak := os.Getenv("STET_SOAK") != ""
	for name, c := range map[string]struct{ needs, script string }{
		"sed over 2,000 files":  {"", "find src -type f -exec sed -i s/file/changed/ {} +"},
		"formatter":             {"", "gofmt -w ."},
		"tree moved":            {"", "mv src lib; mv other lib/; mkdir src; mv lib/d05 src/"},
		"modes of a tree":       {"", "chmod -R go-rwx,u+x ."},
		"killed half-way":       {"", "(for f in src/*/*; do rm $f; echo x > $f.new; done) & p=$!; while [ ! -e src/d03/f3.txt.new ]; do :; done; kill -9 $p; wait $p || true"},
		"directory removed":     {"", "rm -rf src"},
		"clean":                 {"", "git clean -fdxq; git checkout -q ."},
		"hard reset":            {"", "git reset -q --hard HEAD~1"},
		"npm install":           {"npm", "npm install --offline --no-audit --no-fund ./local"},
		"pip install":           {"pip3", "pip3 install -q --no-index --no-build-isolation --no-deps --disable-pip-version-check -t vendor ./local"},
		"move through archives": {"tar", "tar cf all.tar src && rm -r src && tar xf all.tar --transform s/d0/e0/ && gzip all.tar"},
	} {
		t.Run(name, func(t *testing.T) {
			if !soak && (c.needs != "" || name == "clean" || name == "hard reset") {
				t.Skip("set STET_SOAK")
			}
			if _, err := exec.LookPath(c.needs); c.needs != "" && err != nil {
				t.Skip(err)
			}
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "p")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "..", "backend.py"), backend)
			for i := range 2000 {
				write(t, filepath.Join(dir, fmt.Sprintf("src/d%02d/f%d.txt", i/100, i%100+1)), fmt.Sprintf("file %d\n", i))
			}
			sh(t, dir, `mkdir -p src other local/local; git init -q
				printf 'package   a\nfunc  f( ) { }\n' > src/a.go; chmod 755 src/d03/f3.txt; ln -s ../a.go src/d00/link; ln src/d00/f1.txt other/same
				printf '{"name":"app","version":"1.0.0"}' > package.json; printf '{"name":"local","version":"1.0.0","main":"index.js"}' > local/package.json; echo 1 > local/index.js
				printf '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n' > local/pyproject.toml
				cp ../backend.py local/; touch local/local/__init__.py
				printf 'node_modules/\n*.log\n.env\n' > .gitignore; git add .; git commit -qm one; echo changed >> src/d01/f1.txt; git commit -qam two
				echo mine >> src/d02/f2.txt; echo staged > staged; git add staged; echo untracked > untracked; echo S=1 > .env; echo log > x.log; mkdir empty`)
			tree, store := open(t, dir, Options{})
			before := listing(t, dir)
			r := run(t, tree, c.script)
			after := listing(t, dir)
			if before == after {
				t.Fatal("nothing was changed")
			}
			began := time.Now()
			did, left := undo(t, tree, store, r.Changes)
			t.Logf("%d changes, undone in %v", len(r.Changes), time.Since(began).Round(time.Millisecond))
			if now := listing(t, dir); now != before || len(left) > 0 {
				t.Errorf("left %v\n%s", left, firstDifference(now, before))
			}
			undo(t, tree, store, did)
			if now := listing(t, dir); now != after && name != "npm install" { // what is in node_modules is only listed
				t.Errorf("redone: %s", firstDifference(now, after))
			}
		})
	}
}

// backend builds a package of Python without any other package.
const backend = `import zipfile
def build_wheel(d, config_settings=None, metadata_directory=None):
    with zipfile.ZipFile(d + "/local-1-py3-none-any.whl", "w") as z:
        z.writestr("local/__init__.py", "x = 1\n")
        z.writestr("local-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: local\nVersion: 1\n")
        z.writestr("local-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr("local-1.dist-info/RECORD", "")
    return "local-1-py3-none-any.whl"
`

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return "got " + a[i] + "\nwant " + b[i]
		}
	}
	return "one has more lines"
}
