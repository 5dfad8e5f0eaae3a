package hazards

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func setAttr(name, attr, value string) bool {
	return unix.Setxattr(name, attr, []byte(value), 0) == nil
}

func getAttr(name, attr string) string {
	b := make([]byte, 100)
	n, err := unix.Getxattr(name, attr, b)
	if err != nil {
		return err.Error()
	}
	return string(b[:n])
}

// Row: the disk is full in the middle of a write, with stet's state on the same disk or on another one: the file is wholly old or
// wholly new, there are no temporary files, and after there is room again, writes work.
func TestFullDisk(t *testing.T) {
	for _, where := range []string{"elsewhere", "same disk"} {
		t.Run(where, func(t *testing.T) {
			w := newWorld(t)
			if err := unix.Mount("tmpfs", w.dir, "tmpfs", 0, "size=3m"); err != nil {
				t.Skip("no small disk to be had:", err)
			}
			disk := w.dir
			t.Cleanup(func() {
				if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
					t.Error(err)
				}
			})
			w.dir = filepath.Join(disk, "work")
			if where == "same disk" {
				w.home = filepath.Join(disk, "home")
			}
			w.config = "unread = \"allow\"\n"
			old := strings.Repeat("old\n", 10_000)
			w.put("f", old)
			a := w.agent()
			write(t, filepath.Join(disk, "ballast"), strings.Repeat("x", 1_800_000))
			full := 0
			for size := 10_000; size < 1_500_000; size += 75_000 {
				want := strings.Repeat("x", size)
				r, err := a.try("write_file", args{"path": "f", "content": want})
				if err != nil {
					t.Fatal(err)
				}
				got := w.get("f")
				switch {
				case r.ok() && got == want:
					old = want
				case !r.ok() && got == old:
					full++
					if r.code() != "disk_full" || !strings.Contains(r.raw, "is full; make space there") {
						t.Fatalf("not said what is full: %s", r.raw)
					}
				default:
					t.Fatalf("%d bytes: %.200s, and there are %d", size, r.raw, len(got))
				}
				if l := w.temporaryFiles(); len(l) > 0 {
					t.Fatalf("temporary files: %v", l)
				}
			}
			if full == 0 {
				t.Error("the disk was never full")
			}
			a.fails("disk_full", "write_file", args{"path": "made/for/it", "content": strings.Repeat("x", 2_000_000), "create_dirs": true})
			w.missing("made")
			if r := a.do("write_file", args{"path": "new", "content": strings.Repeat("x", 2_000_000)}); r.ok() {
				t.Errorf("%s", r.raw)
			}
			if _, err := os.Lstat(w.abs("new")); !errors.Is(err, fs.ErrNotExist) {
				t.Error("a part of the new file is there")
			}
			if err := os.Remove(filepath.Join(disk, "ballast")); err != nil {
				t.Fatal(err)
			}
			a.works("write_file", args{"path": "f", "content": "there is room again\n"})
			a.Close()
			w.run("audit", "--verify")
		})
	}
}
