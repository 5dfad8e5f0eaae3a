package workspace

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/internal/atomicfile"
)

// others opens n more roots on the tree, with separate state directories.
func (tr *tree) others(n int) []*tree {
	tr.t.Helper()
	var all []*tree
	for range n {
		root, err := Open(tr.dir, Options{State: tr.t.TempDir()})
		if err != nil {
			tr.t.Fatal(err)
		}
		tr.t.Cleanup(func() {
			if err := root.Close(); err != nil {
				tr.t.Error(err)
			}
		})
		all = append(all, &tree{Root: root, t: tr.t, dir: tr.dir, out: tr.out})
	}
	return all
}

// TestConcurrentCommits lets roots with separate states add lines to one file, with delays during their commits. It runs with
// the directory's lock, without it, and with some roots of each kind. Every acknowledged line is in the file, no refused
// line is, and no displaced content is lost. (FILE-14, FILE-15)
func TestConcurrentCommits(t *testing.T) {
	rounds := 3
	if soak() {
		rounds = 20
	}
	for _, c := range []struct {
		name     string
		unlocked func(n int) bool
	}{
		{"locked", func(int) bool { return false }},
		{"unlocked", func(int) bool { return true }},
		{"mixed", func(n int) bool { return n%2 == 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			acknowledged, refused := 0, 0
			for range rounds {
				a, r := addLines(t, c.unlocked)
				acknowledged, refused = acknowledged+a, refused+r
			}
			t.Logf("%d rounds: %d writes acknowledged, %d refused", rounds, acknowledged, refused)
			if refused == 0 {
				t.Error("the writes never met")
			}
		})
	}
}

func addLines(t *testing.T, unlocked func(n int) bool) (acknowledged, refused int) {
	const writers, lines = 5, 12
	tr := newTree(t, Options{})
	tr.put("f", "start\n")
	var mu sync.Mutex
	done := map[string]bool{}
	var wg sync.WaitGroup
	for n, o := range tr.others(writers) {
		o.seams.unlocked = unlocked(n)
		o.seams.pause = func(string) {
			if rand.N(2) == 0 {
				time.Sleep(rand.N(2 * time.Millisecond))
			}
		}
		wg.Go(func() {
			for added, try := 0, 0; added < lines; try++ {
				line := fmt.Sprintf("writer %d try %d\n", n, try)
				c, err := o.ReadAll(context.Background(), o.path("f"))
				if err != nil {
					t.Error(err)
					return
				}
				_, err = o.write("f", string(c.Data)+line, c.Version, WriteMode{})
				if err != nil && !errors.Is(err, ErrChanged) {
					t.Error(err)
					return
				}
				if err == nil {
					added++
				}
				mu.Lock()
				done[line] = err == nil
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	there := map[string]int{}
	for line := range strings.Lines(tr.get("f")) {
		there[line]++
	}
	for line, ok := range done {
		switch {
		case ok && there[line] != 1:
			t.Errorf("acknowledged, and %d times there: %q", there[line], line)
		case !ok && there[line] != 0:
			t.Errorf("refused, and there: %q", line)
		}
		if ok {
			acknowledged++
		} else {
			refused++
		}
	}
	tr.noTempFiles()
	return acknowledged, refused
}

// TestConcurrentCreateAndRemove lets roots with separate states create and remove one file without the directory's lock. Of
// two concurrent creations one succeeds. A refused removal removes nothing.
func TestConcurrentCreateAndRemove(t *testing.T) {
	tr := newTree(t, Options{})
	roots := tr.others(4)
	for _, o := range roots {
		o.seams.unlocked = true
		o.seams.pause = func(string) { time.Sleep(rand.N(time.Millisecond)) }
	}
	var mu sync.Mutex
	there := 0 // acknowledged creations minus acknowledged removals
	var wg sync.WaitGroup
	for n, o := range roots {
		wg.Go(func() {
			for try := range 30 {
				v := Version("")
				if c, err := o.ReadAll(context.Background(), o.path("f")); err == nil {
					v = c.Version
				}
				var err error
				step := 1
				if v == "" {
					_, err = o.write("f", fmt.Sprintf("%d %d\n", n, try), "", WriteMode{})
				} else {
					step = -1
					_, err = o.Remove(context.Background(), o.path("f"), v, WriteMode{})
				}
				if err == nil {
					mu.Lock()
					there += step
					mu.Unlock()
				} else if !errors.Is(err, ErrChanged) && !errors.Is(err, ErrNotFound) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	_, err := os.Lstat(tr.abs("f"))
	if is := err == nil; there != 0 && there != 1 || is != (there == 1) {
		t.Errorf("%d creations more than removals, and the file is there: %v", there, is)
	}
	tr.noTempFiles()
}

// TestForeignWriter lets another program rename its file to the name during a commit. That file is the newest, so it stays,
// and the commit is refused.
func TestForeignWriter(t *testing.T) {
	for _, when := range []string{"claimed", "looked", "displaced", "looked and displaced"} {
		t.Run(when, func(t *testing.T) {
			tr := newTree(t, Options{})
			tr.put("f", "old\n")
			last := ""
			tr.seams.pause = func(what string) {
				if !strings.Contains(when, what) {
					return
				}
				last = "foreign: " + what
				tr.put("foreign", last)
				if err := os.Rename(tr.abs("foreign"), tr.abs("f")); err != nil {
					t.Error(err)
				}
			}
			_, err := tr.write("f", "new\n", VersionOf([]byte("old\n")), WriteMode{})
			// After the exchange the old file was already recognised as the base. So the write has succeeded, and the
			// foreign one comes after it.
			if when != "displaced" {
				wantErr(t, "write", err, ErrChanged)
			} else if err != nil {
				t.Error(err)
			}
			if got := tr.get("f"); got != last {
				t.Errorf("the file holds %q", got)
			}
			tr.noTempFiles()
		})
	}
}

// TestDeadClaim checks a claim of a process that was killed during a commit, and whose state directory is not known here.
// The claim is broken after a while, and its content is kept. A claim that was made without the directory's lock stays, and
// the error names it.
func TestDeadClaim(t *testing.T) {
	for _, c := range []struct{ name, end string }{{"locked", ""}, {"unlocked", unlockedEnd}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := newTree(t, Options{})
				tr.put("f", "old\n")
				d, err := atomicfile.OpenDir(tr.dir)
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				if unlock, err := d.TryLock(); err != nil {
					t.Skip("directories cannot be locked here:", err)
				} else {
					unlock()
				}
				temp := ".stet-0123456789ab-1.tmp"
				tr.put(temp, "of the dead\n")
				tr.link(temp+c.end, claimName("f"))
				_, err = tr.write("f", "new\n", VersionOf([]byte("old\n")), WriteMode{})
				if c.end != "" {
					wantErr(t, "write", err, ErrPermission)
					if err == nil || !strings.Contains(err.Error(), claimName("f")) {
						t.Errorf("the error does not name the claim: %v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if got := tr.get("f"); got != "new\n" {
					t.Errorf("the file holds %q", got)
				}
				if b, err := tr.Kept(VersionOf([]byte("of the dead\n"))); err != nil || string(b) != "of the dead\n" {
					t.Errorf("kept: %q, %v", b, err)
				}
				tr.noTempFiles()
			})
		})
	}
}

// TestSlowCommit checks what the lock of the directory is for: a commit that takes longer than a killed process is waited for is not
// taken for one, by a root that shares nothing with it but the directory. (FILE-14)
func TestSlowCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTree(t, Options{})
		tr.put("f", "old\n")
		old := VersionOf([]byte("old\n"))
		both := tr.others(2)
		slow, other := both[0], both[1]
		claimed := make(chan struct{})
		slow.seams.pause = func(what string) {
			if what == "claimed" {
				close(claimed)
				time.Sleep(2 * claimDead)
			}
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := slow.write("f", "slow\n", old, WriteMode{}); err != nil {
				t.Errorf("the slow commit: %v", err)
			}
		})
		<-claimed
		_, err := other.write("f", "other\n", old, WriteMode{})
		wg.Wait()
		wantErr(t, "the other write", err, ErrChanged)
		if got := tr.get("f"); got != "slow\n" {
			t.Errorf("the file holds %q", got)
		}
		tr.noTempFiles()
	})
}

// TestForeignLock checks that a write does not wait for another program that holds the lock of the directory. The write's
// claim is enough.
func TestForeignLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTree(t, Options{})
		tr.put("f", "old\n")
		d, err := atomicfile.OpenDir(tr.dir)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		unlock, err := d.TryLock()
		if err != nil {
			t.Skip("directories cannot be locked here:", err)
		}
		defer unlock()
		began := time.Now()
		tr.mustWrite("f", "new\n", VersionOf([]byte("old\n")), WriteMode{})
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the write took %v", took)
		}
		tr.noTempFiles()
	})
}

// TestSweepRemovesClaims checks that the next Open with the state directory of a killed process removes the claims of that
// process. Claims of others stay.
func TestSweepRemovesClaims(t *testing.T) {
	tr := newTree(t, Options{})
	tr.put("sub/f", "old\n")
	dead := "0123456789ab"
	owner := fmt.Sprintf("%q\n%q\n", filepath.ToSlash(tr.prefixes[0]), "sub")
	if err := os.WriteFile(tr.state.path("owners", dead), []byte(owner), 0o600); err != nil {
		t.Fatal(err)
	}
	tr.link(".stet-"+dead+"-1.tmp"+unlockedEnd, "sub/"+claimName("f"))
	tr.link(".stet-ba9876543210-1.tmp", "sub/"+claimName("other"))
	root, err := Open(tr.dir, Options{State: string(tr.state.stateDir)})
	if err != nil {
		t.Fatal(err)
	}
	if err := root.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(tr.abs("sub/" + claimName("f"))); !errors.Is(err, os.ErrNotExist) {
		t.Error("the claim is there")
	}
	if _, err := os.Lstat(tr.abs("sub/" + claimName("other"))); err != nil {
		t.Error(err)
	}
}
