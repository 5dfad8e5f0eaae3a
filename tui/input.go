package tui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/muesli/cancelreader"
)

// input reads lines when they are asked for, and only then: in between, an
// editor may have the terminal.
type input struct {
	r       io.Reader
	rest    []byte
	err     error
	pending chan chunk // of a Read that was given up, and could not be stopped
}

type chunk struct {
	data []byte
	err  error
}

// maxTyped is the size of the longest line, in bytes.
const maxTyped = 64 << 10

// line waits for a line, and returns it without its end. The end of the input
// is io.EOF.
func (in *input) line(ctx context.Context) (string, error) {
	for {
		if i := bytes.IndexByte(in.rest, '\n'); i >= 0 || len(in.rest) > maxTyped {
			if i < 0 {
				i = maxTyped
			}
			s := string(in.rest[:i])
			in.rest = in.rest[i+1:]
			return strings.TrimSuffix(s, "\r"), nil
		}
		if in.err != nil {
			return "", in.err
		}
		c, err := in.read(ctx)
		if err != nil {
			return "", err
		}
		in.rest, in.err = append(in.rest, c.data...), c.err
	}
}

// read waits for one Read of the reader, or the end of ctx.
func (in *input) read(ctx context.Context) (chunk, error) {
	pending, stop := in.pending, func() bool { return false }
	if pending == nil {
		r := in.r
		if f, ok := r.(*os.File); ok {
			if c, err := cancelreader.NewReader(f); err == nil { // else it cannot be stopped
				r, stop = c, c.Cancel
				defer c.Close()
			}
		}
		pending = make(chan chunk, 1)
		go func() {
			buf := make([]byte, 4096)
			n, err := r.Read(buf)
			pending <- chunk{buf[:n], err}
		}()
	}
	in.pending = nil
	select {
	case c := <-pending:
		return c, nil
	case <-ctx.Done():
	}
	if stop() {
		c := <-pending // the data may have come before
		in.rest = append(in.rest, c.data...)
		if !errors.Is(c.err, cancelreader.ErrCanceled) {
			in.err = c.err
		}
	} else {
		in.pending = pending
	}
	return chunk{}, ctx.Err()
}

// end waits for the end of the input, or of ctx, and returns its error. Lines that
// come meanwhile are kept for line; the input does not end before they are taken.
func (in *input) end(ctx context.Context) error {
	for in.err == nil && len(in.rest) <= maxTyped {
		c, err := in.read(ctx)
		if err != nil {
			return err
		}
		in.rest, in.err = append(in.rest, c.data...), c.err
	}
	if in.err != nil && (len(bytes.TrimSpace(in.rest)) == 0 || !bytes.Contains(in.rest, []byte("\n"))) {
		return in.err
	}
	<-ctx.Done()
	return ctx.Err()
}

// discard forgets what was typed at a terminal before a question was shown. Input
// from a file or a pipe was written as answers, and stays.
func (in *input) discard() {
	f, ok := in.r.(*os.File)
	if !ok || !term.IsTerminal(f.Fd()) {
		return
	}
	in.rest = nil
	if in.pending != nil {
		select {
		case c := <-in.pending:
			in.pending, in.err = nil, c.err
		default:
		}
	}
	flush(f)
}
