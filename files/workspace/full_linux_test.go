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

// TestFullDisk checks writes to a full disk. Either the old file stays complete, or the new one is complete. No temporary
// file is left.
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
		w, err := tr.write("f", want, was, WriteMode{Backup: true})
		got := tr.get("f")
		switch {
		case err == nil && got == want:
			was, old = w.Now, want
		case err != nil && got == old:
			if !errors.Is(err, ErrFull) {
				t.Errorf("a full disk: %v", err)
			}
			full++
		default:
			t.Fatalf("%d bytes: %v, and there are %d", size, err, len(got))
		}
		tr.noTempFiles()
	}
	if full == 0 {
		t.Error("the disk was never full")
	}
	_, err := tr.Write(context.Background(), tr.path("new"), make([]byte, 900_000), "", WriteMode{})
	if !errors.Is(err, ErrFull) {
		t.Errorf("new file: %v", err)
	}
	if _, err := os.Lstat(tr.abs("new")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a part of the new file is there")
	}
	tr.noTempFiles()
}

// TestFullDiskIsNamed checks that the error names the full file system.
func TestFullDiskIsNamed(t *testing.T) {
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("no small disk to be had:", err)
	}
	defer func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	for _, c := range []struct{ work, state, want string }{
		{filepath.Join(disk, "work"), t.TempDir(), "the file system of the workspace is full"},
		{t.TempDir(), filepath.Join(disk, "state"), "the file system of stet's state directory " + filepath.Join(disk, "state") + " is full"},
	} {
		if err := os.MkdirAll(c.work, 0o755); err != nil {
			t.Fatal(err)
		}
		root, err := Open(c.work, Options{State: c.state})
		if err != nil {
			t.Fatal(err)
		}
		tr := &tree{Root: root, t: t, dir: c.work}
		old := strings.Repeat("old\n", 25_000)
		tr.put("f", old) // not written by the Root, so the version is not kept yet
		ballast := filepath.Join(disk, "ballast")
		if err := os.WriteFile(ballast, make([]byte, 2<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
			t.Fatal("the disk is not full:", err)
		}
		_, err = tr.write("f", strings.Repeat("new\n", 100_000), VersionOf([]byte(old)), WriteMode{})
		wantErr(t, c.want, err, ErrFull)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q in it", err, c.want)
		}
		if got := tr.get("f"); got != old {
			t.Errorf("the file has %d bytes", len(got))
		}
		if strings.HasPrefix(c.work, disk) {
			_, err = tr.write("new/dir/f", strings.Repeat("new\n", 100_000), "", WriteMode{CreateDirs: true})
			wantErr(t, "create", err, ErrFull)
			tr.has("new", false)
		}
		tr.noTempFiles()
		if err := errors.Join(root.Close(), os.Remove(ballast)); err != nil {
			t.Error(err)
		}
	}
}
