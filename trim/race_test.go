//go:build race

package trim

// sample is 8: one recorded session in eight is tested, because the race detector makes the tests ten times slower.
const sample = 8
