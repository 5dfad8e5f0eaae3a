//go:build !linux

package sqlite_test

import "os"

func flush(f *os.File) error { return f.Sync() }
