package terminal

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

// input reads lines. It reads only while a caller waits for a line, because an editor may use the terminal at other times.
type input struct {
	r       io.Reader
	rest    []byte
	err     error
	pending chan chunk // result of a Read that could not be stopped when its caller gave up
}

type chunk struct {
	data []byte
	err  error
}

// maxTyped is the size limit of a line, in bytes.
const maxTyped = 64 << 10

// line waits for a line, and returns it without its line end. The error at the end of the input is io.EOF.
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

// read waits for one Read of the reader, or for the end of ctx.
func (in *input) read(ctx context.Context) (chunk, error) {
	pending, stop := in.pending, func() bool { return false }
	if pending == nil {
		r := in.r
		if f, ok := r.(*os.File); ok {
			if c, err := cancelreader.NewReader(f); err == nil { // otherwise the Read cannot be stopped
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
		c := <-pending // data may have arrived before the Read was stopped
		in.rest = append(in.rest, c.data...)
		if !errors.Is(c.err, cancelreader.ErrCanceled) {
			in.err = c.err
		}
	} else {
		in.pending = pending
	}
	return chunk{}, ctx.Err()
}

// end waits for the end of the input or of ctx, and returns its error. It keeps lines that arrive meanwhile for the method
// line. While there are such lines, end does not report the end of the input. With quits, a first line q ends the wait without an error.
func (in *input) end(ctx context.Context, quits bool) error {
	for in.err == nil && len(in.rest) <= maxTyped {
		if first, _, whole := bytes.Cut(in.rest, []byte("\n")); quits && whole && string(bytes.TrimSpace(first)) == "q" {
			return nil
		}
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

// discard drops what was typed at a terminal before a question was shown. Input from a file or a pipe is kept, because it
// was written as answers.
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
