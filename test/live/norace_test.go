//go:build !race

package live

// step is 6: one recording in six is played, unless -all is given.
const step = 6
