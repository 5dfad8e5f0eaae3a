package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"
)

// output is standard output that remembers its first error. So a command with incomplete output does not exit with success. After
// an error nothing is written. It may be used concurrently.
type output struct {
	to io.Writer

	mu     sync.Mutex
	failed error
}

// checked returns out with error tracking; a terminal is returned unchanged.
func checked(out io.Writer) io.Writer {
	if isTerminal(out) {
		return out
	}
	return &output{to: out}
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed != nil {
		return 0, o.failed
	}
	n, err := o.to.Write(b)
	if err != nil {
		var of *fs.PathError
		if errors.As(err, &of) {
			err = of.Err // it would be named /dev/stdout
		}
		o.failed = fmt.Errorf("standard output: %w", err)
		return n, o.failed
	}
	return n, nil
}

// settle returns the error of a command that ended with err and wrote to w. If the reader of the output has gone, the command ends
// as SIGPIPE would end it, without a message.
func settle(w io.Writer, err error) error {
	o, ok := w.(*output)
	if !ok {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.failed == nil:
		return err
	case err != nil && !errors.Is(err, o.failed): // it also ended for another reason
		if errors.Is(o.failed, syscall.EPIPE) {
			return err
		}
		return fmt.Errorf("%w; %w", err, o.failed)
	case errors.Is(o.failed, syscall.EPIPE):
		return &exitError{code: exitSignal + int(syscall.SIGPIPE)}
	}
	return o.failed
}

// unchecked returns the file of an output, for programs that stet starts.
func unchecked(w io.Writer) io.Writer {
	if o, ok := w.(*output); ok {
		return o.to
	}
	return w
}

// isTerminal reports whether v is a file that is a terminal.
func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}

// screen returns w with the styles and colours that w supports: none if it is not a terminal or NO_COLOR is set.
func (p *program) screen(w io.Writer) io.Writer {
	return colorprofile.NewWriter(w, p.env)
}

// columns returns the width of the terminal w; 0: it is not a terminal, and lines may have any length.
func columns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(f.Fd()); err == nil && width > 0 {
			return width
		}
	}
	return 0
}
