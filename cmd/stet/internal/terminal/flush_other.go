//go:build !linux

package terminal

import "os"

func flush(*os.File) {}
