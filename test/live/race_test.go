//go:build race

package live

// step: under the race detector only some of the recordings are played.
const step = 24
