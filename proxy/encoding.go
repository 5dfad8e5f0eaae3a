package proxy

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// Bodies may come compressed. What is planned is the text in them. A body in which nothing is
// changed goes upstream as it came, one that is changed in the same coding.

// coding is a way to compress a body, as Content-Encoding names it.
type coding struct {
	// reader reads the text of a body. It takes bounded memory.
	reader func(io.Reader) (io.ReadCloser, error)
	writer func(io.Writer) (io.WriteCloser, error)
}

// zstdWindow is how far back in the text a zstd body may point, in bytes: what every
// decoder of the format has to take.
const zstdWindow = 8 << 20

// decodeRoom is the memory that a decoder takes besides the text.
const decodeRoom = 2 * zstdWindow

var codings = map[string]coding{
	"gzip": {
		func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) },
		func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
	},
	"zstd": {
		func(r io.Reader) (io.ReadCloser, error) {
			d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
			if err != nil {
				return nil, err
			}
			return d.IOReadCloser(), nil
		},
		func(w io.Writer) (io.WriteCloser, error) {
			return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
		},
	},
	"br": {
		func(r io.Reader) (io.ReadCloser, error) { return io.NopCloser(brotli.NewReader(r)), nil },
		func(w io.Writer) (io.WriteCloser, error) {
			return brotli.NewWriterLevel(w, brotli.DefaultCompression), nil
		},
	},
}

// codingOf returns what a Content-Encoding names. None is named where plain; one that is not
// known here, or more than one, is not ok.
func codingOf(encoding string) (c *coding, plain, ok bool) {
	encoding = strings.ToLower(strings.TrimSpace(encoding))
	if encoding == "" || encoding == "identity" {
		return nil, true, true
	}
	found, ok := codings[encoding]
	return &found, false, ok
}

// decode makes the text of a whole body what is planned. Where that cannot be, or there is no room
// for it, the body stays as it came, and the cause says why.
func (u *upload) decode(c *coding, max int64, budget *bodyBudget) cause {
	working, err := budget.take(u.client, decodeRoom)
	if err != nil {
		return encoded
	}
	defer working()
	taken := len(u.taken)
	why, text := encoded, []byte(nil)
	if r, err := c.reader(bytes.NewReader(u.head)); err == nil {
		text, err = io.ReadAll(&metered{io.LimitReader(r, max+1), 0, func(n int64) error { return u.take(budget, u.client, n) }})
		_ = r.Close() // all that it had is read, or not wanted
		switch {
		case err != nil:
		case int64(len(text)) > max:
			why = large
		default:
			why = planned
		}
	}
	if why != planned {
		for _, release := range u.taken[taken:] {
			release()
		}
		u.taken = u.taken[:taken]
		return why
	}
	u.came, u.coding, u.head = u.head, c, text
	u.borrowed = append([]*lease{lend(text)}, u.borrowed...)
	return planned
}

// outgoingBody is what goes upstream of a whole body, in the coding that it came in.
func (u *upload) outgoingBody() []byte {
	if u.coding == nil {
		return u.text()
	}
	text := u.text()
	if bytes.Equal(text, u.head) {
		return u.came
	}
	var out bytes.Buffer
	if w, err := u.coding.writer(&out); err == nil {
		_, err = w.Write(text)
		if closed := w.Close(); err == nil && closed == nil {
			return out.Bytes()
		}
	}
	// Writing to memory has no errors. If it had one, the body as it came would have to do.
	u.patched, u.goes = nil, 0
	return u.came
}
