//go:build unix

package main

import "syscall"

// hasModes says that files have permissions for others.
const hasModes = true

// writable reports whether this user may make files in a directory.
func writable(dir string) bool { return syscall.Access(dir, 2) == nil } // W_OK

// freeSpace returns how many bytes the user may still write to the disk of a directory.
func freeSpace(dir string) (bytes uint64, known bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return uint64(s.Bavail) * uint64(s.Bsize), true
}
