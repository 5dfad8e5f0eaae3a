package transcript_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/stet-dev/stet/test/replaytest"
	"github.com/stet-dev/stet/trim/transcript"
)

var update = flag.Bool("update", false, "write what was read into the golden files")

// TestGolden reads a small sample of every format. A sample is an archive with the files and, under "want", the expected
// sessions.
func TestGolden(t *testing.T) {
	names, err := filepath.Glob("testdata/golden/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	seen := map[string]bool{}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			var want string
			var files []txtar.File
			for _, f := range ar.Files {
				if f.Name == "want" {
					want = string(f.Data)
					continue
				}
				files = append(files, f)
				path := filepath.Join(dir, f.Name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, f.Data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			target, _, _ := strings.Cut(files[0].Name, "/")
			sessions, err := transcript.Opener{}.Open(filepath.Join(dir, target))
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, s := range sessions {
				seen[s.Format] = true
				replaytest.Dump(&b, s, dir)
			}
			if got := b.String(); got != want {
				if *update {
					ar.Files = append(files, txtar.File{Name: "want", Data: []byte(got)})
					if err := os.WriteFile(name, txtar.Format(ar), 0o644); err != nil {
						t.Fatal(err)
					}
					return
				}
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
	for _, f := range transcript.FormatNames() {
		if !seen[f] {
			t.Errorf("no sample of %s", f)
		}
	}
}
