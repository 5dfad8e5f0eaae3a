//go:build race

package replay

// sample: the race detector makes all ten times slower; one recorded session
// in six is enough for it.
const sample = 6
