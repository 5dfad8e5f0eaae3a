package terminal

import (
	"fmt"
	"io"
	"os"
	"unicode/utf8"
)

// keyboard is a terminal's input. Bytes that are not UTF-8 become escapes, such as \xff. So they are not lost, and the
// person sees them.
type keyboard struct {
	*os.File
	held []byte // the first bytes of an incomplete character
}

// Read implements io.Reader. p must have capacity for escapes: at least 16 bytes.
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

// escaped appends b to out, with escapes for invalid bytes. rest is an incomplete character at the end of b.
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
