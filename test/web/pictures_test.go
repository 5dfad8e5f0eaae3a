package web

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// drawing is the command that draws the pictures, as the documentation has it.
const drawing = `go test ./test/web -run Pictures -pictures "$PWD/docs/pictures"`

// TestPictures draws the views for the documentation; without a directory it
// proves that they are drawn.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		*pictures = t.TempDir()
		defer func() { *pictures = "" }()
	}
	flow(t, "look", "pictures")
	if !*every {
		small(t, *pictures)
	}
}

// The pictures of the documentation are small, are all shown there, and so is
// the command that draws them.
func TestPicturesInDocs(t *testing.T) {
	const docs = "../../docs"
	text, err := os.ReadFile(filepath.Join(docs, "web.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), drawing) {
		t.Errorf("docs/web.md does not say how the pictures are drawn: %s", drawing)
	}
	for _, name := range small(t, filepath.Join(docs, "pictures")) {
		if !strings.Contains(string(text), "(pictures/"+name+")") {
			t.Errorf("docs/web.md does not show %s", name)
		}
	}
}

// small lists the pictures in a directory. There are eight at most, of 100 KB.
func small(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*.webp"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > 100_000 {
			t.Errorf("%s has %d bytes", file, info.Size())
		}
		names = append(names, filepath.Base(file))
	}
	if len(names) == 0 || len(names) > 8 {
		t.Errorf("%d pictures in %s", len(names), dir)
	}
	return names
}
