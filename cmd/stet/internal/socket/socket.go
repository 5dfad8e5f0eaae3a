// Package socket connects servers with the programs that answer their questions. Each server that waits for a person's answers has
// a Unix socket in the directory "approve" of the state directory, named PID-RANDOM.sock.
package socket

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stet-dev/stet/server/web"
)

const (
	dirName = "approve"
	suffix  = ".sock"

	// guardSuffix ends the names of sockets with questions about agents' own tools.
	guardSuffix = ".guard" + suffix
)

// Listener is the listening socket of a server.
type Listener struct {
	net.Listener
	file string
}

// Remove removes the socket's file. If that fails, the next program that finds the file removes it.
func (l *Listener) Remove() { _ = os.Remove(l.file) }

// Listen makes the socket of this process. The file gets its final name after the socket listens. So a file that refuses
// connections belongs to a process that has ended.
func Listen(state string) (*Listener, error) { return listen(state, suffix) }

// ListenGuard makes the socket of a process that asks about agents' own tools.
func ListenGuard(state string) (*Listener, error) { return listen(state, guardSuffix) }

func listen(state, suffix string) (*Listener, error) {
	dir := filepath.Join(state, dirName)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("socket for approvals: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, fmt.Errorf("socket for approvals: %w", err)
	}
	if _, err := removeStale(dir); err != nil {
		return nil, fmt.Errorf("socket for approvals: %w", err)
	}
	name := fmt.Sprintf("%d-%s", os.Getpid(), rand.Text()[:8])
	file := filepath.Join(dir, name+suffix)
	address, done, err := shortened(dir, name)
	if err != nil {
		return nil, fmt.Errorf("socket for approvals: %w", err)
	}
	defer done()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("socket for approvals: %w", err)
	}
	l.SetUnlinkOnClose(false)
	made := filepath.Join(dir, name)
	if err = os.Chmod(made, 0o600); err == nil {
		err = os.Rename(made, file)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("socket for approvals: %w", err), l.Close(), os.Remove(made))
	}
	return &Listener{l, file}, nil
}

// Server is a connected server.
type Server struct {
	PID    int
	name   string
	Client *web.Client
}

// dialWhere connects to the servers that wait for answers and whose sockets have such a name, in the order of these names, and removes the sockets
// of ended processes. It may return some servers together with an error about the others.
func dialWhere(ctx context.Context, state string, which func(name string) bool) ([]Server, error) {
	dir := filepath.Join(state, dirName)
	names, err := removeStale(dir)
	if err != nil {
		return nil, fmt.Errorf("sockets for approvals: %w", err)
	}
	var all []Server
	var failed []error
	for _, name := range names {
		if !which(name) {
			continue
		}
		greeted, cancel := context.WithTimeout(ctx, 2*time.Second)
		c, err := web.NewClient(greeted, func(ctx context.Context) (net.Conn, error) { return dial(ctx, dir, name) })
		cancel()
		if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) {
			continue // the server has ended since
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = errors.New("it does not answer; maybe it is stopped")
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("process %d: %w", pidOf(name), err))
			continue
		}
		all = append(all, Server{pidOf(name), name, c})
	}
	return all, errors.Join(failed...)
}

// pidOf returns the process id in a socket's name.
func pidOf(name string) int {
	digits, _, _ := strings.Cut(name, "-")
	pid, _ := strconv.Atoi(digits) // 0 for another name
	return pid
}

// removeStale removes the sockets in dir without a listening process, and returns the names of the others. A missing directory has
// none.
func removeStale(dir string) (live []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), suffix) || e.Type() != os.ModeSocket {
			continue
		}
		conn, err := dial(context.Background(), dir, e.Name())
		switch {
		case err == nil:
			_ = conn.Close() // it was only a test
			live = append(live, e.Name())
		case errors.Is(err, syscall.ECONNREFUSED):
			_ = os.Remove(filepath.Join(dir, e.Name())) // if this fails, the next program tries again
		}
	}
	return live, nil
}

func dial(ctx context.Context, dir, name string) (net.Conn, error) {
	address, done, err := shortened(dir, name)
	if err != nil {
		return nil, err
	}
	defer done()
	d := net.Dialer{Timeout: 2 * time.Second}
	return d.DialContext(ctx, "unix", address)
}

// longestAddress is the length of a socket's name that every system accepts.
const longestAddress = 103

// shortened returns a name for a file in dir that is short enough for the address of a socket. It is valid until done is called. If
// the plain name is too long, the returned name uses the directory's descriptor, if the system has names for descriptors.
func shortened(dir, name string) (address string, done func(), err error) {
	address = filepath.Join(dir, name)
	if len(address) <= longestAddress {
		return address, func() {}, nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	through := fmt.Sprintf("/proc/self/fd/%d", d.Fd())
	if _, err := os.Stat(through); err != nil {
		return "", nil, errors.Join(fmt.Errorf("%s is too long a name for a socket: set XDG_STATE_HOME to a shorter one", address), d.Close())
	}
	return filepath.Join(through, name), func() { _ = d.Close() }, nil
}
