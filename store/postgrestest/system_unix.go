//go:build unix

package postgrestest

import (
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// unprivileged makes a command run as another user where this process is root's, since PostgreSQL
// refuses root. The paths become that user's.
func unprivileged(c *exec.Cmd, paths ...string) error {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C at a terminal ends the test, which ends the server
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.LookupId("65534"); err != nil { // nobody
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

// kill ends a server and its children at once; it leads their process group.
func kill(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }
