//go:build !windows

package workspace

func sharing(error) bool { return false }

func diskFull(error) bool { return false }
