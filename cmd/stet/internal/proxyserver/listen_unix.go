//go:build unix

package proxyserver

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
)

// Inherited returns the listener that the system opened for this process (sd_listen_fds(3)), or nil. It removes the environment
// variables for it, because they must not reach child processes.
func Inherited() (net.Listener, error) {
	const first = 3 // SD_LISTEN_FDS_START
	pid, count := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS")
	if pid != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		if err := os.Unsetenv(name); err != nil {
			return nil, err
		}
	}
	if count != "1" {
		return nil, fmt.Errorf("the system handed over %s sockets: want one", count)
	}
	syscall.CloseOnExec(first)
	f := os.NewFile(first, "LISTEN_FDS")
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("the socket that the system handed over: %w", err)
	}
	return l, f.Close()
}
