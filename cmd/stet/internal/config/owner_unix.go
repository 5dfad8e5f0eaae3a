//go:build unix

package config

import (
	"os"
	"syscall"
)

// sameOwner reports whether this user or the owner of the directory dir owns a file.
func sameOwner(file os.FileInfo, dir string) bool {
	has, ok := file.Sys().(*syscall.Stat_t)
	if !ok || has.Uid == uint32(os.Getuid()) {
		return true
	}
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	want, ok := info.Sys().(*syscall.Stat_t)
	return ok && has.Uid == want.Uid
}
