//go:build unix

package config

import (
	"os"
	"syscall"
)

// sameOwner reports whether a file is ours, or its owner is that of the
// directory dir.
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
