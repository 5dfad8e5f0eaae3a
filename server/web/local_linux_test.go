package web

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stet-dev/stet/files/approval"
)

// strangerEnv names the socket to which this test binary connects instead of testing.
const strangerEnv = "STET_TEST_STRANGER"

func TestMain(m *testing.M) {
	if path := os.Getenv(strangerEnv); path != "" {
		_, err := NewClient(context.Background(), func(context.Context) (net.Conn, error) { return net.Dial("unix", path) })
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// hazards: another user on the machine connects to the local server.
func TestOtherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be two users")
	}
	dir, err := os.MkdirTemp("/tmp", "s") // other users can reach it, unlike t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{dir, path} {
		if err := os.Chmod(p, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- (&Handler{Queue: new(approval.Queue)}).ServeLocal(ctx, ln) }()
	test, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "test")
	if err := os.WriteFile(copied, test, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(copied, "-test.run=^$")
	cmd.Dir, cmd.Env = "/", []string{strangerEnv + "=" + path}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "user 65534 may not answer for user 0") {
		t.Errorf("%v: %s", err, out)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
