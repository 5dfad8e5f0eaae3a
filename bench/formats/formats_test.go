package formats

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/stet-dev/stet/test/replaytest"
	"github.com/stet-dev/stet/trim/transcript"
)

// TestGolden reads a small sample of every format.
func TestGolden(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
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
			file := filepath.Join(dir, ar.Files[0].Name)
			if err := os.WriteFile(file, ar.Files[0].Data, 0o600); err != nil {
				t.Fatal(err)
			}
			sessions, err := transcript.Opener{Formats: All()}.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, s := range sessions {
				seen[s.Format] = true
				replaytest.Dump(&b, s, dir)
			}
			if got, want := b.String(), string(ar.Files[1].Data); got != want {
				if os.Getenv("UPDATE") != "" {
					ar.Files[1].Data = []byte(got)
					if err := os.WriteFile(name, txtar.Format(ar), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
	for _, f := range All() {
		if !seen[f.Name] {
			t.Errorf("no sample of %s", f.Name)
		}
	}
}
