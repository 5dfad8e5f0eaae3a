//go:build !race

package trim

// sample is 1: all recorded sessions are tested.
const sample = 1
