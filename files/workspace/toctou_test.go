//go:build linux

package workspace

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSwappedForLinks is the race in the first row of the hazards. A directory and a file are exchanged with links that
// lead outside, thousands of times a second. Nothing from outside is read, and nothing outside is made or changed. The test
// runs for a second, or for at least 80,000 calls with STET_SOAK=1.
func TestSwappedForLinks(t *testing.T) {
	for _, without := range []bool{false, true} {
		t.Run(fmt.Sprintf("openat2=%v", !without), func(t *testing.T) { swapRace(t, without) })
	}
}

func swapRace(t *testing.T, withoutOpenat2 bool) {
	tr := newTree(t, Options{})
	if withoutOpenat2 {
		tr.Root.dir.StepByStep()
	}
	if err := os.WriteFile(filepath.Join(tr.out, "f"), []byte(secret), 0o644); err != nil {
		t.Fatal(err)
	}
	tr.put("d/f", "inside")
	tr.put("file", "inside")
	tr.link(tr.out, "bad")
	tr.link(filepath.Join(tr.out, "f"), "badfile")
	stop := make(chan struct{})
	var swaps, calls, reads, writes atomic.Int64
	var wg sync.WaitGroup
	swap := func(a, b string) {
		for {
			select {
			case <-stop:
				return
			default:
				if unix.Renameat2(unix.AT_FDCWD, tr.abs(a), unix.AT_FDCWD, tr.abs(b), unix.RENAME_EXCHANGE) == nil {
					swaps.Add(1)
				}
			}
		}
	}
	wg.Go(func() { swap("d", "bad") })
	wg.Go(func() { swap("file", "badfile") })
	limit, until := int64(4_000), time.Now().Add(time.Second)
	if soak() {
		limit, until = 100_000, time.Now().Add(10*time.Minute)
	}
	last := time.Now().Add(time.Minute)
	// It runs longer on a slow machine, so that the race happens at all.
	more := func() bool {
		now, raced := time.Now(), reads.Load() > 0 && writes.Load() > 0 && swaps.Load() > 0
		return !raced && now.Before(last) || calls.Load() < limit && now.Before(until)
	}
	var callers sync.WaitGroup
	for g := range 2 {
		callers.Go(func() {
			for n := 0; more(); n++ {
				calls.Add(5)
				raceCalls(tr, g*1_000_000+n, &reads, &writes)
			}
		})
	}
	callers.Wait()
	close(stop)
	wg.Wait()
	tr.outsideHas("f")
	t.Logf("%d calls, %d reads and %d writes succeeded, %d swaps, 0 escapes", calls.Load(), reads.Load(), writes.Load(), swaps.Load())
	if reads.Load() == 0 || writes.Load() == 0 || swaps.Load() == 0 {
		t.Error("nothing was raced")
	}
}

func raceCalls(tr *tree, n int, reads, writes *atomic.Int64) {
	ctx := context.Background()
	check := func(what string, data []byte, err error) {
		if err == nil {
			reads.Add(1)
		}
		if bytes.Contains(data, []byte(secret)) {
			tr.t.Errorf("%s: read from outside", what)
		}
	}
	for _, s := range []string{"d/f", "file"} {
		c, err := tr.ReadAll(ctx, tr.path(s))
		check(s, c.Data, err)
		if info, err := tr.Inspect(tr.path(s)); err == nil && info.Size == int64(len(secret)) {
			tr.t.Errorf("stat %s: from outside", s)
		}
	}
	if _, err := tr.write(fmt.Sprintf("d/n%d", n), "x", "", WriteMode{}); err == nil {
		writes.Add(1)
	}
	_, _ = tr.write("file", "inside", VersionOf([]byte(secret)), WriteMode{})
	_, _ = tr.write(fmt.Sprintf("d/sub%d/x", n), "x", "", WriteMode{CreateDirs: true})
}

// A .git file that becomes a pipe, after it was looked at and before it is opened, is not waited for.
// (FILE-13)
func TestGitFileBecomesPipe(t *testing.T) {
	tr := newTree(t, Options{})
	if err := unix.Mkfifo(tr.abs(".git"), 0o600); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(tr.abs(".git"), os.O_RDWR, 0) // which writes nothing
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	if st, ok := tr.gitDir(); ok {
		t.Errorf("a pipe names a repository: %+v", st)
	}
}
