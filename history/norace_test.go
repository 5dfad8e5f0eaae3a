//go:build !race

package history

// sample: all recorded sessions are looked at.
const sample = 1
