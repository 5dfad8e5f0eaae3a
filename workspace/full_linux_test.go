package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFullDisk: on a disk that is full the old file stays, whole, or the new
// one is there, whole, and nothing lies about.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("no small disk to be had:", err)
	}
	defer func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	for _, state := range []string{filepath.Join(t.TempDir(), "elsewhere"), filepath.Join(dir, "state")} {
		work := filepath.Join(dir, "work")
		if err := os.MkdirAll(work, 0o755); err != nil {
			t.Fatal(err)
		}
		root, err := Open(work, Options{State: state})
		if err != nil {
			t.Fatal(err)
		}
		tr := &tree{Root: root, t: t, dir: work}
		fillUp(t, tr, dir)
		if err := root.Close(); err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Error(err)
		}
		if err := os.RemoveAll(work); err != nil {
			t.Fatal(err)
		}
	}
}

func fillUp(t *testing.T, tr *tree, dir string) {
	old := strings.Repeat("old\n", 10_000)
	tr.put("f", old)
	if err := os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 700_000), 0o644); err != nil {
		t.Fatal(err)
	}
	full := 0
	was := VersionOf([]byte(old))
	for size := 10_000; size < 800_000; size += 40_000 {
		want := strings.Repeat("x", size)
		w, err := tr.write("f", want, was, WriteOptions{Backup: true})
		got := tr.get("f")
		switch {
		case err == nil && got == want:
			was, old = w.Now, want
		case err != nil && got == old:
			if known(err) {
				t.Errorf("a full disk is no error of the model's: %v", err)
			}
			full++
		default:
			t.Fatalf("%d bytes: %v, and there are %d", size, err, len(got))
		}
		tr.noLitter()
	}
	if full == 0 {
		t.Error("the disk was never full")
	}
	_, err := tr.Write(context.Background(), tr.path("new"), make([]byte, 900_000), "", WriteOptions{})
	if err == nil || known(err) {
		t.Errorf("new file: %v", err)
	}
	if _, err := os.Lstat(tr.abs("new")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a part of the new file is there")
	}
	tr.noLitter()
}
