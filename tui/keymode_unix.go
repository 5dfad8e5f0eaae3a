//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package tui

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// keyMode has a terminal hand over each key as it is pressed, and show none of them.
// Earlier input is dropped. Ctrl-C and Ctrl-Z stay signals, and output is not changed. leave restores the old mode; it may be
// called more than once, and by another goroutine.
func keyMode(f *os.File) (leave func(), err error) {
	fd := int(f.Fd())
	before, err := unix.IoctlGetTermios(fd, getMode)
	if err != nil {
		return nil, err
	}
	keys := *before
	keys.Lflag &^= unix.ICANON | unix.ECHO | unix.IEXTEN
	keys.Cc[unix.VMIN], keys.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, setModeDrop, &keys); err != nil {
		return nil, err
	}
	// While the program is stopped by Ctrl-Z the shell gets the terminal as it was.
	stops, goesOn := make(chan os.Signal, 1), make(chan os.Signal, 1)
	if !signal.Ignored(unix.SIGTSTP) {
		signal.Notify(stops, unix.SIGTSTP)
		signal.Notify(goesOn, unix.SIGCONT)
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			case <-stops:
				_ = unix.IoctlSetTermios(fd, setMode, before)
				select {
				case <-goesOn: // of another time
				default:
				}
				_ = syscall.Kill(syscall.Getpid(), unix.SIGSTOP)
				select { // the signal takes a moment
				case <-goesOn:
				case <-end:
					return
				}
				_ = unix.IoctlSetTermios(fd, setMode, &keys)
			}
		}
	}()
	return once(func() {
		signal.Stop(stops)
		signal.Stop(goesOn)
		close(end)
		<-ended
		_ = unix.IoctlSetTermios(fd, setMode, before) // a terminal that is gone needs nothing
	}), nil
}

// resizes relays changes of the terminal's size, until stop.
func resizes() (_ <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, unix.SIGWINCH)
	return c, func() { signal.Stop(c) }
}
