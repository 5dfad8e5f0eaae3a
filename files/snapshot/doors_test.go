//go:build unix

package snapshot

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// A process that is killed while it reads closed directories leaves them open. The next process with the same store closes them. Directories of a
// running process stay open. A directory whose mode was changed meanwhile keeps the new mode. A directory above keeps its mode if its owner may look into it.
func TestKilledWithOpenDoors(t *testing.T) {
	if dir := os.Getenv("STET_TEST_DOORS"); dir != "" {
		store, err := OpenStore(filepath.Join(dir, "kept"))
		if err != nil {
			t.Fatal(err)
		}
		o := doors{dir: filepath.Join(dir, "work"), store: store}
		for _, p := range []string{"d/e", "changed", "readonly/x"} {
			if !o.open(p, 0o500) {
				t.Fatal("nothing was closed: ", p)
			}
		}
		os.Stdout.WriteString("open\n")
		_, _ = os.Stdin.Read(make([]byte, 1)) // until it is killed
		return
	}
	dir := t.TempDir()
	sh(t, dir, "mkdir -p kept work/d/e work/changed work/readonly/x; chmod 300 work/d/e work/readonly/x; chmod 500 work/readonly; chmod 2000 work/d work/changed")
	t.Cleanup(func() { sh(t, dir, "chmod -R 700 work") })
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWithOpenDoors$")
	cmd.Env, cmd.Stderr = append(os.Environ(), "STET_TEST_DOORS="+dir), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	if n, err := out.Read(make([]byte, 5)); n == 0 {
		t.Fatal(err)
	}
	modes := func(what, want string) {
		t.Helper()
		if got := sh(t, dir, "stat -c %a work/d; chmod u+rx work/d 2>&1; stat -c %a work/d/e work/changed work/readonly"); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	next := func() {
		t.Helper()
		if _, err := OpenStore(filepath.Join(dir, "kept")); err != nil {
			t.Fatal(err)
		}
	}
	next()
	modes("while it runs", "2700\n700\n2700\n500\n")
	sh(t, dir, "chmod 750 work/changed")
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	next()
	modes("after the kill", "2000\n300\n2750\n500\n")
	if left, _ := os.ReadDir(filepath.Join(dir, "kept", doorNotes)); len(left) != 0 {
		t.Error(left)
	}
}
