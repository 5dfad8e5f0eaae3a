package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"
	"sync"

	"github.com/stet-dev/stet/internal/atomicfile"
)

// Version identifies a file's content. It is the SHA-256 of all bytes, in lower-case hex. "" is the version of a missing
// file. Equal versions mean equal content, even if the file's times differ.
type Version string

// VersionOf returns the version of a file with the content data.
func VersionOf(data []byte) Version {
	sum := sha256.Sum256(data)
	return Version(hex.EncodeToString(sum[:]))
}

// versionOf returns the version of the bytes that were written to a SHA-256 hash.
func versionOf(h hash.Hash) Version { return Version(hex.EncodeToString(h.Sum(nil))) }

// block is the number of bytes that are read at once. It fits into the second-level cache.
const block = 256 << 10

// buffers are slices of block bytes.
var buffers = sync.Pool{New: func() any { b := make([]byte, block); return &b }}

// sum reads all of f and returns its version and size. It checks ctx before each block.
func sum(ctx context.Context, f io.Reader) (Version, int64, error) {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	h := sha256.New()
	n, err := io.CopyBuffer(h, contextReader{ctx, f}, *buf)
	return versionOf(h), n, err
}

// contextReader is a reader that fails with the context's error after the context has ended.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// Version returns the version of a file of any size, or "" if the file is missing.
func (r *Root) Version(ctx context.Context, p Path) (Version, error) {
	v, err := reading(r, p, func(f *opened) (Version, error) {
		v, _, err := sum(ctx, f)
		return v, err
	})
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	return v, err
}

// sameNow reports whether an open file still has the same stamp.
func sameNow(f *os.File, st atomicfile.Stat) bool {
	now, err := atomicfile.StatFile(f)
	return err == nil && stampOf(now) == stampOf(st)
}
