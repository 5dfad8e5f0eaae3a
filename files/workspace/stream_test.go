package workspace

import (
	"io"
	"os"
	"testing"
)

// A stream returns the file's content. The content is not kept.
func TestStream(t *testing.T) {
	tr := newTree(t, Options{})
	tr.put("f", "text")
	f, info, err := tr.Stream(tr.path("f"))
	if err != nil || info.Size != 4 {
		t.Fatal(info, err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); err != nil || string(b) != "text" {
		t.Errorf("%q, %v", b, err)
	}
	_, err = tr.Kept(VersionOf([]byte("text")))
	wantErr(t, "kept", err, ErrNotFound)
	if err := os.Mkdir(tr.abs("d"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, _, err = tr.Stream(tr.path("d"))
	wantErr(t, "directory", err, ErrIsDirectory)
}
