package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// noRights is the user ID that Linux keeps for programs without special rights.
const noRights = 65534

// asOrdinaryUser makes the home directory that of an ordinary user, and runs its programs as that user, for the rest of the test. It
// needs root.
func asOrdinaryUser(t *testing.T) *home {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can become somebody else; the other tests ran as an ordinary user anyway")
	}
	dir, err := os.MkdirTemp("/tmp", "stet-ordinary") // TempDir's directory is closed to other users
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	h := &home{dir: dir, tree: filepath.Join(dir, "tree"), as: &syscall.Credential{Uid: noRights, Gid: noRights}}
	write(t, filepath.Join(h.tree, "a.txt"), "one\n")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(self)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "stet"), b, 0o755)
	}
	if err == nil {
		err = exec.Command("chown", "-R", "65534:65534", dir).Run()
	}
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.env = append(os.Environ(), "HOME="+dir, "PATH="+dir+":"+os.Getenv("PATH"), "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "GORACE=atexit_sleep_ms=0")
	if err := h.stet("version").Run(); err != nil {
		t.Skip("another user cannot run programs in /tmp: ", err)
	}
	return h
}

// The main functions work for a user who is not root: a write that a person approves, the trail, undo. Files of other users are
// refused with a reason.
func TestOrdinaryUser(t *testing.T) {
	h := asOrdinaryUser(t)
	write(t, filepath.Join(h.tree, "roots.txt"), "root's\n")
	write(t, filepath.Join(h.tree, "secret.txt"), "secret\n")
	write(t, filepath.Join(h.dir, "closed", "x"), "x")
	for name, mode := range map[string]os.FileMode{"tree/secret.txt": 0o600, "closed": 0o700} {
		if err := os.Chmod(filepath.Join(h.dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	s := h.connect(t, nil)
	for _, test := range []struct{ name, args, want string }{
		{"read_file", `{"path":"a.txt"}`, `"content":"one\n"`},
		{"read_file", `{"path":"secret.txt"}`, "permission_denied: read secret.txt: permission denied"},
	} {
		if got := callOnce(t, s, test.name, test.args); !strings.Contains(got, test.want) {
			t.Errorf("%s %s: %s", test.name, test.args, got)
		}
	}
	id := pendingID(callOnce(t, s, "write_file", `{"path":"a.txt","content":"two\n"}`))
	approve := h.stet("approve")
	approve.Stdin = strings.NewReader("a\n")
	if out, err := approve.CombinedOutput(); err != nil || !strings.Contains(string(out), "+two") {
		t.Fatalf("stet approve: %v\n%s", err, out)
	}
	if got, err := callTool(t.Context(), s, "await_result", `{"pending":"`+id+`"}`); err != nil || !strings.Contains(got, `"success":true`) {
		t.Fatalf("%v: %s", err, got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if out := h.run(t, "audit"); !strings.Contains(out, "a.txt: ok (approved, by person nobody)") {
		t.Error(out)
	}
	session := strings.TrimSuffix(strings.Fields(h.run(t, "undo"))[1], ",")
	h.run(t, "undo", "--yes", session)
	if b, _ := os.ReadFile(filepath.Join(h.tree, "a.txt")); string(b) != "one\n" {
		t.Errorf("after the undo the file holds %q", b)
	}
	if out := h.run(t, "audit", "--verify"); !strings.Contains(out, "hold together") {
		t.Error(out)
	}
	for _, test := range []struct{ env, args, want string }{
		{"X=", "mcp --root closed", "--root: open " + h.dir + "/closed: permission denied"},
		{"XDG_STATE_HOME=" + h.dir + "/closed", "mcp --root tree", "permission denied"},
		{"XDG_STATE_HOME=" + h.dir + "/closed", "approve", "sockets for approvals: open " + h.dir + "/closed/stet/approve: permission denied"},
		{"XDG_STATE_HOME=" + h.dir + "/closed", "audit", "audit trail: stat " + h.dir + "/closed/stet/stet.db: permission denied"},
	} {
		cmd := h.stet(strings.Fields(test.args)...)
		cmd.Env = append(cmd.Env, test.env)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), test.want) {
			t.Errorf("%s stet %s: %v\n%s", test.env, test.args, err, out)
		}
	}
}

// Another user cannot answer questions, even if the socket is reachable: the system reports the user at the other end.
func TestAnotherUserCannotAnswer(t *testing.T) {
	h := asOrdinaryUser(t)
	s := h.connect(t, &mcp.ClientOptions{})
	if id := pendingID(callOnce(t, s, "write_file", `{"path":"new.txt","content":"x\n"}`)); id == "" {
		t.Fatal("the write does not wait")
	}
	for _, open := range []bool{false, true} {
		if open {
			err := filepath.WalkDir(filepath.Join(h.dir, ".local"), func(path string, _ os.DirEntry, err error) error {
				if err == nil {
					err = os.Chmod(path, 0o777)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		other := h.stet("approve")
		other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: noRights - 1, Gid: noRights - 1}}
		other.Stdin = strings.NewReader("a\n")
		out, err := other.CombinedOutput()
		want := map[bool]string{false: "permission denied", true: "user 65533 may not answer for user 65534"}[open]
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("open %v: %v\n%s", open, err, out)
		}
	}
	if _, err := os.Stat(filepath.Join(h.tree, "new.txt")); err == nil {
		t.Error("it was written")
	}
}
