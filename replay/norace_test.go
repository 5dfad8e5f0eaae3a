//go:build !race

package replay

// sample: of the recorded sessions all are replayed.
const sample = 1
