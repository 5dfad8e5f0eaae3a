//go:build !linux

package hazards

import "testing"

func makeSpecial(t *testing.T, _ *world) []string {
	t.Skip("made on Linux only")
	return nil
}
