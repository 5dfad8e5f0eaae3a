//go:build !race

package replaytest

// Sample says that one session in so many is replayed.
const Sample = 1
