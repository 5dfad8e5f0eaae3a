package web

import (
	"net"
	"syscall"
)

// peerUser returns the user at the other end of a unix socket; known is false for another kind of connection.
func peerUser(conn net.Conn) (uid int, known bool, err error) {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, false, nil
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, false, err
	}
	var cred *syscall.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err == nil {
		err = credErr
	}
	if err != nil {
		return 0, false, err
	}
	return int(cred.Uid), true, nil
}
