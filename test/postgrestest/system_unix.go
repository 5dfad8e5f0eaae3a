//go:build unix

package postgrestest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// unprivileged makes a command run as another user if this process runs as root, because PostgreSQL refuses to run as root. The
// paths are given to that user.
func unprivileged(c *exec.Cmd, paths ...string) error {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C at a terminal then ends only the test, and the test ends the server
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.LookupId("65534"); err != nil { // the user ID that Unix systems keep for programs without special rights
			return err
		}
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return err
	}
	for _, p := range paths {
		if err := os.Chown(p, uid, gid); err != nil {
			return err
		}
	}
	c.Dir = "/"
	c.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return nil
}

// kill ends a server and its children at once. Each child has its own process group. kill returns when they hold nothing that a
// new server needs.
func kill(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil { // the server cannot start more children
		return err
	}
	listed, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return errors.Join(err, syscall.Kill(pid, syscall.SIGKILL))
	}
	children := strings.Fields(string(listed))
	for _, child := range append([]string{strconv.Itoa(pid)}, children...) {
		if n, err := strconv.Atoi(child); err == nil {
			_ = syscall.Kill(n, syscall.SIGKILL) // the process may have ended already
		}
	}
	for deadline := time.Now().Add(10 * time.Second); slices.ContainsFunc(children, runs); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return errors.New("a server process does not end")
		}
	}
	return nil
}

// runs reports whether a process exists and is not a zombie.
func runs(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	_, state, ok := strings.Cut(string(stat), ") ")
	return err == nil && ok && !strings.HasPrefix(state, "Z")
}
