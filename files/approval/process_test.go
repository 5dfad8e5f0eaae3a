//go:build unix

package approval_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/sqlite"
	"github.com/stet-dev/stet/tool"
)

// roleEnv selects what a second process of the test binary does: see role.
const roleEnv = "STET_TEST_ROLE"

// role returns what the process does instead of testing.
func role() (func() error, bool) {
	act, ok := roles[os.Getenv(roleEnv)]
	return act, ok
}

var roles = map[string]func() error{
	"killed": killed,
	"once":   killedOnce,
}

// again runs the test binary in a role.
func again(t *testing.T, role, dir string) (string, error) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), roleEnv+"="+role, roleEnv+"_DIR="+dir)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// killed kills its process in the middle of a write.
func killed() error {
	dir := os.Getenv(roleEnv + "_DIR")
	store, err := sqlite.Open(context.Background(), filepath.Join(dir, "stet.db"))
	if err != nil {
		return err
	}
	root, err := workspace.Open(filepath.Join(dir, "tree"), workspace.Options{State: filepath.Join(dir, "state")})
	if err != nil {
		return err
	}
	put := &fileTool{root: root, write: true}
	var set tool.Set
	if err := set.Add(put, &fileTool{root: root}); err != nil {
		return err
	}
	h := &approval.Handler{Tools: &set, Policy: &policy.Policy{Unattended: true}, Journal: &record.Journal{Trail: store}}
	for _, content := range []string{"one", "two"} {
		if content == "two" {
			put.onApply = func(*tool.Plan) { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} }
		}
		if _, err := h.Call(context.Background(), call("s", "put", "a", content)); err != nil {
			return err
		}
	}
	return errors.New("still alive")
}

// FILE-11: after a process is killed in the middle of a write, the chain is valid, and the write has no outcome.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "tree"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if out, err := again(t, "killed", dir); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("%v: %s", err, out)
		}
	}
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "stet.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	v, err := record.Verify(t.Context(), store)
	if err != nil || v.Broken != nil || len(v.Open) != 3 {
		t.Errorf("%+v, %v", v, err)
	}
	writes, err := record.Writes(t.Context(), store, "s", 0)
	if err != nil || len(writes) < 4 || writes[0].Open || !writes[len(writes)-1].Open {
		t.Errorf("%+v, %v", writes, err)
	}
}
