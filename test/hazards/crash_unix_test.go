//go:build unix

package hazards

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func crashText(n int) string {
	return fmt.Sprintf("version %d\n", n) + strings.Repeat(fmt.Sprintf("%08d\n", n), 20_000)
}

// Row: SIGKILL in the middle of a write: each file is wholly old or wholly new, and the next start removes temporary files. The
// chain of the trail verifies. 25 kills, or 500 with STET_SOAK=1.
func TestKilled(t *testing.T) {
	kills := 25
	if soak() {
		kills = 500
	}
	w := newWorld(t)
	w.config = "unread = \"allow\"\n"
	w.put("sub/f", crashText(0))
	last, temporaryFiles, during := 0, 0, 0
	for k := range kills {
		a := w.agent()
		if l := w.temporaryFiles(); len(l) > 0 {
			t.Fatalf("not swept: %v", l)
		}
		fuse := time.AfterFunc(time.Duration(rand.IntN(25_000))*time.Microsecond, func() { _ = a.cmd.Process.Kill() })
		acknowledged, fresh := last, -1
		for n := last + 1; ; n++ {
			r, err := a.try("write_file", args{"path": "sub/f", "content": crashText(n), "backup": n%2 == 0})
			if err != nil {
				break
			}
			if !r.ok() {
				t.Fatalf("%s", r.raw)
			}
			acknowledged = n
			if r, err = a.try("write_file", args{"path": fmt.Sprintf("sub/new%d", k), "content": crashText(k)}); err == nil && r.ok() {
				fresh = n
			}
		}
		fuse.Stop()
		_ = a.cmd.Process.Kill() // the process has ended
		_ = a.Close()            // it returns an error
		got := w.get("sub/f")
		if _, err := fmt.Sscanf(got, "version %d\n", &last); err != nil || got != crashText(last) {
			t.Fatalf("the file is no version: %d bytes, %.60q", len(got), got)
		}
		if last < acknowledged || last > acknowledged+1 {
			t.Fatalf("version %d was acknowledged, %d is there", acknowledged, last)
		}
		if last > acknowledged {
			during++
		}
		b, err := os.ReadFile(w.abs(fmt.Sprintf("sub/new%d", k)))
		switch {
		case err == nil && string(b) != crashText(k):
			t.Fatalf("the new file is a part: %d bytes", len(b))
		case err != nil && (fresh >= 0 || !errors.Is(err, fs.ErrNotExist)):
			t.Fatalf("the new file was acknowledged: %v", err)
		}
		temporaryFiles += len(w.temporaryFiles())
	}
	a := w.agent()
	if l := w.temporaryFiles(); len(l) > 0 {
		t.Errorf("not swept: %v", l)
	}
	_ = a.Close() // writes the whole trail
	w.run("audit", "--verify")
	t.Logf("%d kills, %d temporary files swept, %d writes done and not acknowledged, 0 damaged", kills, temporaryFiles, during)
}

// Row: mode 0600 during a write: the mode is never wider, not even for a moment, and the old mode is kept.
func TestModeWhileWriting(t *testing.T) {
	w := newWorld(t)
	w.put("secret", crashText(0))
	if err := os.Chmod(w.abs("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer syscall.Umask(syscall.Umask(0))
	a := w.agent()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	seen, temporary := 0, 0
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			entries, err := os.ReadDir(w.dir)
			if err != nil {
				t.Error(err)
				return
			}
			for _, e := range entries {
				info, err := os.Lstat(w.abs(e.Name()))
				if err != nil {
					continue // the file is gone
				}
				seen++
				if strings.HasPrefix(e.Name(), ".stet-") {
					temporary++
				}
				// A symbolic link (the claim on a file) has no mode of its own, and no content.
				if info.Mode()&fs.ModeSymlink == 0 && info.Mode().Perm()&0o077 != 0 {
					t.Errorf("%s is %v", e.Name(), info.Mode())
					return
				}
			}
		}
	})
	a.works("read_file", args{"path": "secret"})
	for n := range 60 {
		a.works("write_file", args{"path": "secret", "content": crashText(n + 1), "backup": n%2 == 0})
	}
	close(stop)
	wg.Wait()
	if seen == 0 {
		t.Error("nothing was looked at")
	}
	t.Logf("%d looks, %d at temporary files", seen, temporary)
}

// Row: a target with mode 0444, another owner, or extended attributes: these are kept, or the result says so.
func TestKeepsAttributes(t *testing.T) {
	w := newWorld(t)
	w.put("ro", "x\n")
	w.put("owned", "x\n")
	w.put("xattr", "x\n")
	w.put("mode", "x\n")
	for name, mode := range map[string]fs.FileMode{"ro": 0o444, "mode": 0o640} {
		if err := os.Chmod(w.abs(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	root := os.Getuid() == 0 && os.Chown(w.abs("owned"), 1234, 5678) == nil
	attr := setAttr(w.abs("xattr"), "user.stet", "kept")
	a := w.agent()
	for _, name := range []string{"owned", "xattr", "mode"} {
		a.works("read_file", args{"path": name})
		a.works("write_file", args{"path": name, "content": "y\n"})
	}
	a.works("read_file", args{"path": "ro"})
	a.fails("permission_denied", "write_file", args{"path": "ro", "content": "y\n"})
	for name, mode := range map[string]fs.FileMode{"ro": 0o444, "mode": 0o640} {
		if info, err := os.Stat(w.abs(name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if info, err := os.Stat(w.abs("owned")); err != nil {
		t.Error(err)
	} else if st := info.Sys().(*syscall.Stat_t); root && (st.Uid != 1234 || st.Gid != 5678) {
		t.Errorf("owned by %d:%d", st.Uid, st.Gid)
	}
	if attr && getAttr(w.abs("xattr"), "user.stet") != "kept" {
		t.Error("the attribute is lost")
	}
}
