//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package terminal

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// keyMode makes a terminal deliver each key when it is pressed, without echo. It drops earlier input. Ctrl-C and Ctrl-Z
// still send signals, and output is not changed. leave restores the old mode. It may be called more than once, and by
// another goroutine.
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
	// While the program is stopped by Ctrl-Z, the shell gets the terminal in its old mode.
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
				case <-goesOn: // a signal from an earlier stop
				default:
				}
				_ = syscall.Kill(syscall.Getpid(), unix.SIGSTOP)
				select { // SIGSTOP needs a moment to take effect
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
		_ = unix.IoctlSetTermios(fd, setMode, before) // an error means that the terminal is closed
	}), nil
}

// resizes returns a channel that reports changes of the terminal's size, until stop is called.
func resizes() (_ <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, unix.SIGWINCH)
	return c, func() { signal.Stop(c) }
}
