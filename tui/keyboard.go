package tui

import (
	"fmt"
	"io"
	"os"
	"unicode/utf8"
)

// keyboard is a terminal's input. Bytes that are no UTF-8 become escapes, such as
// \xff: the person sees them, and they are not lost.
type keyboard struct {
	*os.File
	held []byte // the beginning of a character whose end has not come
}

// Read implements io.Reader. p needs room for escapes: 16 bytes.
func (k *keyboard) Read(p []byte) (int, error) {
	if len(p) < 4*utf8.UTFMax {
		return 0, io.ErrShortBuffer
	}
	for {
		buf := make([]byte, len(p)/4)
		n := copy(buf, k.held)
		more, err := k.File.Read(buf[n:])
		out := p[:0]
		out, k.held = escaped(out, buf[:n+more])
		if err != nil {
			for _, b := range k.held {
				out = fmt.Appendf(out, `\x%02x`, b)
			}
			k.held = nil
		}
		if len(out) > 0 || err != nil {
			return len(out), err
		}
	}
}

// escaped appends b to out with escapes, and returns what is left of b: the
// beginning of a character.
func escaped(out, b []byte) (_, rest []byte) {
	for len(b) > 0 {
		if !utf8.FullRune(b) {
			break
		}
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			out = fmt.Appendf(out, `\x%02x`, b[0])
		} else {
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	return out, b
}
