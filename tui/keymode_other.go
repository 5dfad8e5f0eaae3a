//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package tui

import (
	"os"

	"github.com/charmbracelet/x/term"
)

// keyMode has a terminal hand over each key as it is pressed, and show none of them.
// Ctrl-C is a key. leave puts back what was; it may be called more than once.
func keyMode(f *os.File) (leave func(), err error) {
	before, err := term.MakeRaw(f.Fd())
	if err != nil {
		return nil, err
	}
	return once(func() { _ = term.Restore(f.Fd(), before) }), nil // a terminal that is gone needs nothing
}

// resizes relays changes of the terminal's size: none here.
func resizes() (_ <-chan os.Signal, stop func()) { return nil, func() {} }
