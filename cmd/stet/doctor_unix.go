//go:build unix

package main

import "syscall"

// hasModes says that files have permissions for others.
const hasModes = true

// writable reports whether this user may make files in a directory.
func writable(dir string) bool { return syscall.Access(dir, 2) == nil } // W_OK
