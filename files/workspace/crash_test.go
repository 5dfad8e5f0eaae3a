//go:build unix

package workspace

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/internal/limits"
)

// TestKilledWhileWriting is the crash row of the hazards. It kills a process that writes continuously, at random moments.
// The file must have one complete version: the last acknowledged one, or the next one. The next Open removes the process's
// temporary files. There are tens of kills, or 500 with STET_SOAK=1.
func TestKilledWhileWriting(t *testing.T) {
	if dir := os.Getenv("STET_TEST_WRITER"); dir != "" {
		writeForEver(dir, os.Getenv("STET_TEST_STATE"))
		return
	}
	kills := 25
	if soak() {
		kills = 500
	}
	tr := newTree(t, Options{})
	rng := rand.New(rand.NewSource(time.Now().UnixNano()))
	tr.put("sub/f", crashText(0))
	litter := 0
	for range kills {
		acknowledged := killOne(t, tr, time.Duration(rng.Intn(12_000))*time.Microsecond)
		got := tr.get("sub/f")
		var n int
		if _, err := fmt.Sscanf(got, "version %d\n", &n); err != nil || got != crashText(n) {
			t.Fatalf("the file is no version: %d bytes, %q", len(got), limits.Shorten(got, 200))
		}
		if n < acknowledged || n > acknowledged+1 {
			t.Fatalf("version %d was acknowledged, %d is there", acknowledged, n)
		}
		litter += countLitter(t, tr)
		root, err := Open(tr.dir, Options{State: string(tr.state.stateDir)})
		if err != nil {
			t.Fatal(err)
		}
		if err := root.Close(); err != nil {
			t.Fatal(err)
		}
		tr.noTempFiles()
		// The earlier content can be restored.
		if acknowledged > 0 {
			if _, err := tr.Kept(VersionOf([]byte(crashText(acknowledged - 1)))); err != nil {
				t.Errorf("version %d is not kept: %v", acknowledged-1, err)
			}
		}
	}
	owners, _ := os.ReadDir(tr.state.path("owners"))
	staged, _ := os.ReadDir(tr.state.path("staged"))
	if len(owners)+len(staged) > 0 {
		t.Errorf("left in the state: %v %v", owners, staged)
	}
	t.Logf("%d kills, %d temporary files swept, 0 damaged", kills, litter)
}

func crashText(n int) string {
	return fmt.Sprintf("version %d\n", n) + strings.Repeat(fmt.Sprintf("%08d\n", n), 20_000)
}

// killOne starts a writer, kills it, and returns the last version that it acknowledged.
func killOne(t *testing.T, tr *tree, after time.Duration) int {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestKilledWhileWriting$")
	cmd.Env = append(os.Environ(), "STET_TEST_WRITER="+tr.dir, "STET_TEST_STATE="+string(tr.state.stateDir))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(after)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(lines)
	_ = cmd.Wait()
	all := bytes.Split([]byte(first+string(rest)), []byte("\n"))
	var n int
	// Text after the last line feed is incomplete.
	if _, err := fmt.Sscanf(string(all[len(all)-2]), "done %d", &n); err != nil {
		t.Fatalf("%q: %v", all, err)
	}
	return n
}

// writeForEver continues from the existing version, and prints each version that was written.
func writeForEver(dir, state string) {
	root, err := Open(dir, Options{State: state})
	if err != nil {
		panic(err)
	}
	p, err := root.Path("sub/f")
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	c, err := root.ReadAll(ctx, p)
	if err != nil {
		panic(err)
	}
	var n int
	if _, err := fmt.Sscanf(string(c.Data), "version %d\n", &n); err != nil {
		panic(err)
	}
	was := c.Version
	fmt.Printf("done %d\n", n)
	for {
		n++
		// A staged write and a new file, so that a kill leaves files of every kind.
		s, err := root.Stage(p)
		if err != nil {
			panic(err)
		}
		if _, err := s.Write([]byte(crashText(n))); err != nil {
			panic(err)
		}
		w, err := s.Commit(ctx, was, WriteMode{Backup: n%2 == 0})
		if err != nil {
			panic(err)
		}
		was = w.Now
		fmt.Printf("done %d\n", n)
		if err := s.Abort(); err != nil {
			panic(err)
		}
	}
}

func countLitter(t *testing.T, tr *tree) int {
	entries, err := os.ReadDir(tr.abs("sub"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tempPrefix) {
			n++
		}
	}
	return n
}

// TestSweepKeepsFilesOfRunningProcess checks that temporary files of a running process are not removed.
func TestSweepKeepsFilesOfRunningProcess(t *testing.T) {
	tr := newTree(t, Options{})
	name, err := tr.state.tempName(".")
	if err != nil {
		t.Fatal(err)
	}
	tr.put(name, "at work")
	s, err := tr.Stage(tr.path("x"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := Open(tr.dir, Options{State: string(tr.state.stateDir)})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if tr.get(name) != "at work" {
		t.Error("swept")
	}
	if _, err := s.Write([]byte("x")); err != nil {
		t.Error(err)
	}
	if _, err := s.Commit(context.Background(), "", WriteMode{}); err != nil {
		t.Error(err)
	}
	if err := s.Abort(); err != nil {
		t.Error(err)
	}
	if err := os.Remove(tr.abs(name)); err != nil {
		t.Error(err)
	}
}

// TestSweptContentIsKept checks that the content of a dead process's temporary file is kept. It may be the only copy of
// what the process wrote.
func TestSweptContentIsKept(t *testing.T) {
	tr := newTree(t, Options{})
	name, err := tr.state.tempName("sub")
	if err != nil {
		t.Fatal(err)
	}
	tr.put("sub/"+name, "the only copy")
	// The owner dies: its lock is released, and its record stays.
	o := tr.state.owner
	if err := o.lock.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := Open(tr.dir, Options{State: string(tr.state.stateDir)})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	tr.noTempFiles()
	if b, err := second.Kept(VersionOf([]byte("the only copy"))); err != nil || string(b) != "the only copy" {
		t.Errorf("%q, %v", b, err)
	}
	tr.state.owner = nil
}
