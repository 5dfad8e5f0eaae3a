//go:build !unix

package config

import "os"

// sameOwner reports whether a file is as trusted as the directory dir. It is not implemented for this system.
func sameOwner(os.FileInfo, string) bool { return true }
