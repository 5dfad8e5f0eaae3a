package web

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// drawing is the command that makes the pictures. The documentation has the same text.
const drawing = `go test ./test/web -run Pictures -pictures "$PWD/docs/pictures"`

// TestPictures makes the pictures of the views for the documentation. Without a directory it only checks that they can be made.
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

// The pictures of the documentation are small, web.md shows all of them, and it has the command that makes them.
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

// small lists the pictures in a directory, and checks that there are at most eight, of at most 100 KB.
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
