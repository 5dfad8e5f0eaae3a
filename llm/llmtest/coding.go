package llmtest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// plain decompresses a body. encoding is its Content-Encoding.
func plain(encoding string, body []byte) ([]byte, error) {
	var r io.Reader = bytes.NewReader(body)
	switch encoding {
	case "", "identity":
		return body, nil
	case "gzip":
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, err
		}
		r = z
	case "zstd":
		z, err := zstd.NewReader(r)
		if err != nil {
			return nil, err
		}
		defer z.Close()
		r = z
	case "br":
		r = brotli.NewReader(r)
	default:
		return nil, fmt.Errorf("unsupported content encoding %q", encoding)
	}
	return io.ReadAll(r)
}
