//go:build !linux

package tui

import "os"

func flush(*os.File) {}
