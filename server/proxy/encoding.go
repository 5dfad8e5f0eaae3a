package proxy

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// Bodies may be compressed. The decompressed text is planned. An unchanged body goes upstream with its original bytes; a changed
// body is compressed again with the same coding.

// coding is a compression format, named by Content-Encoding.
type coding struct {
	// reader decompresses a body in bounded memory.
	reader func(io.Reader) (io.ReadCloser, error)
	writer func(io.Writer) (io.WriteCloser, error)
}

// zstdWindow is the largest window of a zstd body in bytes. Every zstd decoder must support this size.
const zstdWindow = 8 << 20

// decodeRoom is the memory in bytes that a decoder needs besides the text.
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

// codingOf returns the coding that a Content-Encoding names. plain: the body is not compressed. ok is false for an unknown coding
// and for more than one.
func codingOf(encoding string) (c *coding, plain, ok bool) {
	encoding = strings.ToLower(strings.TrimSpace(encoding))
	if encoding == "" || encoding == "identity" {
		return nil, true, true
	}
	found, ok := codings[encoding]
	return &found, false, ok
}

// decode decompresses a whole body for planning. If that fails or there is no capacity for the text, the body stays as it came and
// the cause says why.
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
		_ = r.Close() // the text is read, or not needed
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

// outgoingBody returns the bytes of a whole body that go upstream, in the coding of the client's body.
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
	// Writing to memory cannot fail. If it did, the original body would be sent.
	u.patched = nil
	return u.came
}

// plainAnswers is a RoundTripper that decompresses answers to requests that asked for none compressed. So the proxy can read what it must,
// and the client gets what it could read in any case.
type plainAnswers struct{ http.RoundTripper }

func (t plainAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err != nil || r.Header.Get("Accept-Encoding") != "identity" || resp.StatusCode == http.StatusSwitchingProtocols {
		return resp, err
	}
	if c, plain, ok := codingOf(resp.Header.Get("Content-Encoding")); ok && !plain {
		resp.Body = &decoded{body: resp.Body, coding: c}
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
		resp.ContentLength, resp.Uncompressed = -1, true
	}
	return resp, nil
}

// decoded is the text of a compressed body. The first Read begins to read the body.
type decoded struct {
	body   io.ReadCloser
	coding *coding
	text   io.ReadCloser
	err    error
}

func (d *decoded) Read(b []byte) (int, error) {
	if d.text == nil && d.err == nil {
		d.text, d.err = d.coding.reader(d.body)
	}
	if d.err != nil {
		return 0, fmt.Errorf("compressed answer: %w", d.err)
	}
	return d.text.Read(b)
}

func (d *decoded) Close() error {
	if d.text != nil {
		_ = d.text.Close() // the body is read, or not needed
	}
	return d.body.Close()
}
