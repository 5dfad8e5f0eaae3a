//go:build race

package replaytest

// Sample says that one session in so many is replayed: the race detector makes all ten times slower.
const Sample = 6
