//go:build unix

package workspace

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestSpecialFiles covers the hazard of pipes, sockets and devices. They are refused without waiting, also several at once.
// (FILE-13)
func TestSpecialFiles(t *testing.T) {
	tr := newTree(t, Options{})
	if err := syscall.Mkfifo(tr.abs("pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	// A socket's path must be short, so a short path to the directory is used.
	l, err := net.Listen("unix", shortSocket(t, tr.abs("socket")))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	names := []string{"pipe", "socket", "link"}
	tr.link("pipe", "link")
	if syscall.Mknod(tr.abs("null"), syscall.S_IFCHR|0o666, 1<<8|3) == nil {
		names = append(names, "null")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for range 8 {
		for _, name := range names {
			p := tr.path(name)
			wg.Go(func() {
				_, err := tr.ReadAll(ctx, p)
				wantErr(t, "read "+name, err, ErrSpecial)
				_, err = tr.Page(ctx, p, PageRequest{})
				wantErr(t, "page "+name, err, ErrSpecial)
				_, err = tr.Write(ctx, p, nil, "", WriteMode{})
				wantErr(t, "write "+name, err, ErrSpecial)
				if info, err := tr.Inspect(p); err != nil || info.Kind != Special {
					t.Errorf("stat %s: %v, %v", name, info.Kind, err)
				}
			})
		}
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		t.Fatal("something hangs on a special file")
	}
}

// shortSocket returns a short path for a socket in a directory whose real path may be too long.
func shortSocket(t *testing.T, path string) string {
	dir, err := os.MkdirTemp("/tmp", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Symlink(filepath.Dir(path), filepath.Join(dir, "d")); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "d", filepath.Base(path))
}

// A hard link may have a name outside. Reading it reports the number of names. Writing it needs a person's consent.
func TestHardLinks(t *testing.T) {
	tr := newTree(t, Options{})
	outside := filepath.Join(tr.out, "file")
	if err := os.WriteFile(outside, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(outside, tr.abs("link")); err != nil {
		t.Fatal(err)
	}
	c, err := tr.ReadAll(context.Background(), tr.path("link"))
	if err != nil || c.Info.Links != 2 {
		t.Fatalf("links %d, %v", c.Info.Links, err)
	}
	_, err = tr.write("link", "x", c.Version, WriteMode{})
	wantErr(t, "write", err, ErrProtected)
	w := tr.mustWrite("link", "x", c.Version, WriteMode{Agreed: OtherNames})
	if len(w.Lost) == 0 {
		t.Error("nothing is said of the link")
	}
	tr.outsideHas("file")
	if kept, err := tr.Kept(c.Version); err != nil || string(kept) != secret {
		t.Errorf("kept %q, %v", kept, err)
	}
}

func TestDirectoriesAndMissing(t *testing.T) {
	tr := newTree(t, Options{})
	tr.put("dir/f", "x")
	for _, s := range []string{"dir", ".", "dir/"} {
		_, err := tr.read(s)
		wantErr(t, "read "+s, err, ErrIsDirectory)
	}
	_, err := tr.write("dir", "x", "", WriteMode{})
	wantErr(t, "write dir", err, ErrIsDirectory)
	for _, s := range []string{".", "dir/", "new/"} {
		_, err := tr.write(s, "x", "", WriteMode{CreateDirs: true})
		wantErr(t, "write "+s, err, ErrPath)
	}
	for _, s := range []string{"nope", "dir/nope", "nope/x", "dir/f/x", "dir/f/"} {
		_, err := tr.read(s)
		wantErr(t, "read "+s, err, ErrNotFound)
	}
	// FILE-13: a missing parent gives file_not_found, unless it is to be made.
	_, err = tr.write("a/b/c", "x", "", WriteMode{})
	wantErr(t, "missing parent", err, ErrNotFound)
	tr.mustWrite("a/b/c", "x", "", WriteMode{CreateDirs: true})
	_, err = tr.write("dir/f/x", "x", "", WriteMode{CreateDirs: true})
	wantErr(t, "a file as parent", err, ErrNotFound)
}

func TestCloseTwice(t *testing.T) {
	tr := newTree(t, Options{})
	p := tr.path("x")
	if err := errors.Join(tr.Close(), tr.Close()); err != nil {
		t.Error(err)
	}
	_, err := tr.ReadAll(context.Background(), p)
	wantErr(t, "read", err, os.ErrClosed)
	_, err = tr.Write(context.Background(), p, nil, "", WriteMode{})
	wantErr(t, "write", err, os.ErrClosed)
}
