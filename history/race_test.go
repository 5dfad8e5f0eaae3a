//go:build race

package history

// sample: the race detector makes all ten times slower; one recorded session
// in eight is enough for it.
const sample = 8
