package snapshot

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// The tests that root cannot run are run as another user.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the other tests run as an ordinary user anyway")
	}
	dir, err := os.MkdirTemp("/tmp", "stet-ordinary") // TempDir's directory is closed to other users
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	sh(t, dir, "cp '"+self+"' snapshot.test; chmod 777 .")
	cmd := exec.Command(filepath.Join(dir, "snapshot.test"), "-test.run", "^(TestForbiddenBefore|TestClosedByCommand|TestKinds)$/watched|walked|read-only", "-test.v")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
