//go:build !race

package history

// sample is 1: all recorded sessions are tested.
const sample = 1
