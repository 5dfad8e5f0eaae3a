package proxyserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// Loopback reports whether host means only this machine.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Host checks HOST:PORT and returns the host.
func Host(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("cannot listen on %q: want HOST:PORT", address)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return "", fmt.Errorf("cannot listen on %q: a port is a number from 0 to 65535", address)
	}
	return host, nil
}

// Listen opens a port. Its error says what to do.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	return l, ListenError(address, err)
}

// ListenError adds to the error of opening a port what to do. err may be nil.
func ListenError(address string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("listen on %s: the port is in use, perhaps by another stet: choose another with --listen", address)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("listen on %s: permission denied: choose a port above 1023 with --listen", address)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("listen on %s: this machine does not have this address", address)
	}
	return fmt.Errorf("listen on %s: %w", address, err)
}
