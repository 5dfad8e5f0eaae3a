//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package terminal

import (
	"os"

	"github.com/charmbracelet/x/term"
)

// keyMode makes a terminal deliver each key when it is pressed, without echo. Ctrl-C is a key. leave restores the old mode.
// It may be called more than once.
func keyMode(f *os.File) (leave func(), err error) {
	before, err := term.MakeRaw(f.Fd())
	if err != nil {
		return nil, err
	}
	return once(func() { _ = term.Restore(f.Fd(), before) }), nil // an error means that the terminal is closed
}

// resizes returns no channel: changes of the terminal's size are not reported here.
func resizes() (_ <-chan os.Signal, stop func()) { return nil, func() {} }
