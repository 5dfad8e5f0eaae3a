//go:build !unix

package config

import "os"

// sameOwner reports whether a file may be trusted as much as the directory dir.
// It was not tried on such systems.
func sameOwner(os.FileInfo, string) bool { return true }
