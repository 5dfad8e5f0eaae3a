package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestCompareAndSwap covers FILE-15: a write that is based on another version is refused, and the error has the existing
// version.
func TestCompareAndSwap(t *testing.T) {
	tr := newTree(t, Options{})
	w := tr.mustWrite("f", "one", "", WriteMode{})
	if !w.Created || w.Now != VersionOf([]byte("one")) || w.Bytes != 3 || w.Info.Size != 3 {
		t.Errorf("got %+v", w)
	}
	now := func(err error) Version {
		t.Helper()
		wantErr(t, "write", err, ErrChanged)
		var e *Error
		if !errors.As(err, &e) {
			t.Fatal(err)
		}
		return e.Now
	}
	_, err := tr.write("f", "two", "", WriteMode{})
	if got := now(err); got != w.Now {
		t.Errorf("a file that exists: now %q", got)
	}
	_, err = tr.write("gone", "two", w.Now, WriteMode{})
	if got := now(err); got != "" {
		t.Errorf("a file that is gone: now %q", got)
	}
	// Another program changes the file, and keeps its size and times.
	fi, err := os.Stat(tr.abs("f"))
	if err != nil {
		t.Fatal(err)
	}
	tr.put("f", "eno")
	if err := os.Chtimes(tr.abs("f"), fi.ModTime(), fi.ModTime()); err != nil {
		t.Fatal(err)
	}
	_, err = tr.write("f", "two", w.Now, WriteMode{})
	if got := now(err); got != VersionOf([]byte("eno")) || tr.get("f") != "eno" {
		t.Errorf("equal size and time: now %q, there is %q", got, tr.get("f"))
	}
	// The file already has the wanted bytes: nothing is written.
	before, _ := os.Stat(tr.abs("f"))
	w = tr.mustWrite("f", "eno", w.Now, WriteMode{Backup: true})
	after, _ := os.Stat(tr.abs("f"))
	if !w.Unchanged || !os.SameFile(before, after) || w.Backup != "" {
		t.Errorf("unchanged: %+v", w)
	}
	tr.noTempFiles()
}

// TestBytesAreUntouched checks line ends, byte-order marks, invalid text, and a missing final newline.
func TestBytesAreUntouched(t *testing.T) {
	tr := newTree(t, Options{})
	was := Version("")
	for _, s := range []string{"a\r\nb\nc\r", "\xef\xbb\xbfx", "\xff\xfea\x00", "\x80\x81", "", "no newline"} {
		was = tr.mustWrite("f", s, was, WriteMode{}).Now
		if tr.get("f") != s {
			t.Errorf("wrote %q, there is %q", s, tr.get("f"))
		}
		if c, err := tr.ReadAll(context.Background(), tr.path("f")); err != nil || string(c.Data) != s || c.Version != was {
			t.Errorf("read %q, %v", c.Data, err)
		}
	}
}

// TestLimits is FILE-8.
func TestLimits(t *testing.T) {
	tr := newTree(t, Options{ReadLimit: 1000, WriteLimit: 100})
	tr.put("r", strings.Repeat("x", 1000))
	tr.put("big", strings.Repeat("x", 1001))
	if _, err := tr.read("r"); err != nil {
		t.Error(err)
	}
	_, err := tr.read("big")
	wantErr(t, "read", err, ErrTooLarge)
	tr.mustWrite("w", strings.Repeat("x", 100), "", WriteMode{})
	_, err = tr.write("w2", strings.Repeat("x", 101), "", WriteMode{})
	wantErr(t, "write", err, ErrTooLarge)
	if o := (Options{}).withDefaults(); o.ReadLimit != 10<<20 || o.WriteLimit != 5<<20 || o.PartsLimit != 100<<20 {
		t.Errorf("defaults %+v", o)
	}
}

// TestModeIsKept checks the mode. Also, while the new file is made, only users who could read the old one can read it.
// (FILE-14)
func TestModeIsKept(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no modes here")
	}
	tr := newTree(t, Options{})
	for _, mode := range []os.FileMode{0o600, 0o644, 0o755, 0o640, 0o664, 0o400} {
		name := fmt.Sprintf("f%o", mode)
		tr.put(name, "old")
		if err := os.Chmod(tr.abs(name), mode); err != nil {
			t.Fatal(err)
		}
		if mode == 0o400 && os.Geteuid() != 0 {
			_, err := tr.write(name, "new", VersionOf([]byte("old")), WriteMode{})
			wantErr(t, "read-only", err, ErrPermission)
			continue
		}
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() { watchModes(t, tr.dir, mode, stop) })
		was := VersionOf([]byte("old"))
		for i := range 8 {
			was = tr.mustWrite(name, fmt.Sprint(i), was, WriteMode{Agreed: ExecutableFile}).Now
		}
		close(stop)
		wg.Wait()
		if fi, err := os.Stat(tr.abs(name)); err != nil || fi.Mode() != mode {
			t.Errorf("mode %v became %v, %v", mode, fi.Mode(), err)
		}
	}
	info, err := tr.Inspect(tr.path("f755"))
	if err != nil || info.Cautions() != ExecutableFile { // FILE-13
		t.Errorf("executable: %v, %v", info, err)
	}
}

// watchModes checks the mode of every temporary file until stop is closed.
func watchModes(t *testing.T, dir string, mode os.FileMode, stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), tempPrefix) {
				continue
			}
			if fi, err := os.Lstat(filepath.Join(dir, e.Name())); err == nil && fi.Mode()&os.ModeSymlink == 0 && fi.Mode().Perm()&^(mode|0o600) != 0 {
				t.Errorf("a temporary file has mode %v, the file %v", fi.Mode(), mode)
			}
		}
	}
}

// TestBackup is FILE-17.
func TestBackup(t *testing.T) {
	tr := newTree(t, Options{})
	tr.put("src/a.go", "old")
	w := tr.mustWrite("src/a.go", "new", VersionOf([]byte("old")), WriteMode{Backup: true})
	if b, err := os.ReadFile(w.Backup); err != nil || string(b) != "old" {
		t.Errorf("backup %q: %q, %v", w.Backup, b, err)
	}
	if fi, err := os.Stat(w.Backup); err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
		t.Errorf("backup: %v, %v", fi.Mode(), err)
	}
	if strings.HasPrefix(w.Backup, tr.dir) {
		t.Errorf("the backup is in the tree: %s", w.Backup)
	}
	// The old version is kept even without a backup.
	was := w.Now
	w = tr.mustWrite("src/a.go", "newer", was, WriteMode{})
	if kept, err := tr.Kept(was); err != nil || string(kept) != "new" || w.Backup != "" {
		t.Errorf("kept %q, %v; backup %q", kept, err, w.Backup)
	}
	// A new file has no old content for a backup.
	if w := tr.mustWrite("new", "x", "", WriteMode{Backup: true}); w.Backup != "" {
		t.Errorf("backup %q", w.Backup)
	}
}

func TestRemove(t *testing.T) {
	tr := newTree(t, Options{})
	w := tr.mustWrite("f", "x", "", WriteMode{})
	_, err := tr.Remove(context.Background(), tr.path("f"), VersionOf([]byte("y")), WriteMode{})
	wantErr(t, "another version", err, ErrChanged)
	got, err := tr.Remove(context.Background(), tr.path("f"), w.Now, WriteMode{})
	if err != nil || got.Now != "" || got.Was != w.Now {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := os.Lstat(tr.abs("f")); !errors.Is(err, os.ErrNotExist) {
		t.Error("it is still there")
	}
	if kept, err := tr.Kept(w.Now); err != nil || string(kept) != "x" {
		t.Errorf("kept %q, %v", kept, err)
	}
	_, err = tr.Remove(context.Background(), tr.path("f"), w.Now, WriteMode{})
	wantErr(t, "gone", err, ErrNotFound)
	tr.noTempFiles()
}

// TestNothingIsLost lets several writers of two roots on one tree add lines to a file. Each write is based on what the
// writer has read. At the end every line is in the file. (two agents on one tree)
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	tr := newTree(t, Options{})
	second, err := Open(tr.dir, Options{State: string(tr.state.stateDir)})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	edits := 25
	if soak() {
		edits = 1000
	}
	tr.put("f", "")
	p := tr.path("f")
	var wg sync.WaitGroup
	for g := range 4 {
		root := []*Root{tr.Root, second}[g%2]
		wg.Go(func() {
			for i := 0; i < edits; {
				c, err := root.ReadAll(context.Background(), p)
				if err != nil {
					t.Error(err)
					return
				}
				data := fmt.Appendf(c.Data, "%d.%d\n", g, i)
				if _, err = root.Write(context.Background(), p, data, c.Version, WriteMode{}); err == nil {
					i++
				} else if !errors.Is(err, ErrChanged) {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if got := strings.Count(tr.get("f"), "\n"); got != 4*edits {
		t.Errorf("%d lines of %d", got, 4*edits)
	}
	tr.noTempFiles()
}

// TestOtherProgramIsNotOverwritten lets a program without locks replace the file by rename continuously. At the end, the file
// has the last content of that program, or the content of a write of stet that is based on it.
func TestOtherProgramIsNotOverwritten(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is a window here, and the package says so")
	}
	tr := newTree(t, Options{})
	tr.put("f", "0")
	p := tr.path("f")
	ctx := context.Background()
	seen := map[string]bool{}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var stranger []string
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			text := fmt.Sprintf("stranger %d", i)
			tmp := filepath.Join(tr.out, "tmp")
			if os.WriteFile(tmp, []byte(text), 0o644) == nil && os.Rename(tmp, tr.abs("f")) == nil {
				stranger = append(stranger, text)
			}
		}
	})
	n, until := 0, time.Now().Add(500*time.Millisecond)
	if soak() {
		until = time.Now().Add(time.Minute)
	}
	for time.Now().Before(until) {
		c, err := tr.ReadAll(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		w, err := tr.Write(ctx, p, fmt.Appendf(nil, "stet %d after %s", n, c.Version), c.Version, WriteMode{})
		if err == nil {
			n++
			seen[string(c.Data)] = true
			if kept, err := tr.Kept(w.Was); err != nil || string(kept) != string(c.Data) {
				t.Fatalf("what was overwritten is not kept: %q, %v", kept, err)
			}
		} else if !errors.Is(err, ErrChanged) {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
	last := tr.get("f")
	if final := stranger[len(stranger)-1]; last != final && !seen[final] {
		t.Errorf("the last change %q is lost, there is %q", final, last)
	}
	t.Logf("%d writes of stet's among %d of the stranger's", n, len(stranger))
	tr.noTempFiles()
}

// TestCancelled checks that a cancelled write changes nothing.
func TestCancelled(t *testing.T) {
	tr := newTree(t, Options{})
	tr.put("f", "old")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := tr.Write(ctx, tr.path("f"), []byte("new"), VersionOf([]byte("old")), WriteMode{})
	wantErr(t, "write", err, context.Canceled)
	_, err = tr.ReadAll(ctx, tr.path("f"))
	wantErr(t, "read", err, context.Canceled)
	if tr.get("f") != "old" {
		t.Error("written")
	}
	tr.noTempFiles()
}

// A write waits for a lock that another process holds, until its context ends. (FILE-14)
func TestLockIsWaitedFor(t *testing.T) {
	tr := newTree(t, Options{})
	second, err := openState(Options{State: string(tr.state.stateDir)}.withDefaults(), tr.Dir())
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := second.lock(context.Background(), tr.self, "f")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	_, err = tr.Write(ctx, tr.path("f"), nil, "", WriteMode{})
	wantErr(t, "locked", err, context.DeadlineExceeded)
	unlock()
	tr.mustWrite("f", "x", "", WriteMode{})
}

// TestExecutableMeanwhile checks that a write without consent for an executable file is refused. This is so even if the
// file becomes executable during the commit. A mode that changes meanwhile stays. (FILE-13, FILE-14)
func TestExecutableMeanwhile(t *testing.T) {
	for _, when := range []string{"", "claimed", "looked"} {
		t.Run(when, func(t *testing.T) {
			tr := newTree(t, Options{})
			tr.put("f", "old")
			chmod := func(what string) {
				if what != when {
					return
				}
				if err := os.Chmod(tr.abs("f"), 0o755); err != nil {
					t.Error(err)
				}
			}
			chmod("")
			tr.seams.pause = chmod
			was := VersionOf([]byte("old"))
			_, err := tr.write("f", "new", was, WriteMode{})
			wantErr(t, "not approved", err, ErrProtected)
			if got := tr.get("f"); got != "old" {
				t.Errorf("the file holds %q", got)
			}
			if when != "" {
				if err := os.Chmod(tr.abs("f"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			tr.mustWrite("f", "new", was, WriteMode{Agreed: ExecutableFile})
			if fi, err := os.Stat(tr.abs("f")); err != nil || fi.Mode() != 0o755 {
				t.Errorf("mode %v, %v", fi.Mode(), err)
			}
			tr.noTempFiles()
		})
	}
}
