//go:build !windows

package workspace

func sharingViolation(error) bool { return false }

func diskFull(error) bool { return false }
