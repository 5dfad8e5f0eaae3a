//go:build race

package live

// step is 24: with the race detector, one recording in 24 is played.
const step = 24
