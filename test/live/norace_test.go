//go:build !race

package live

// step: of the recordings, every so manieth is played, unless -all is given.
const step = 6
