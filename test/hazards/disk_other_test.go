//go:build unix && !linux

package hazards

func setAttr(_, _, _ string) bool { return false }

func getAttr(_, _ string) string { return "" }
