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

// Version is a file's content: the SHA-256 of all its bytes in lower-case
// hex. "" is the version of a file that is not there. Equal versions are equal
// content, also where the file's times differ.
type Version string

// VersionOf returns the version of a file that holds data.
func VersionOf(data []byte) Version {
	sum := sha256.Sum256(data)
	return Version(hex.EncodeToString(sum[:]))
}

// versionOf returns the version of what was written to a SHA-256 hash.
func versionOf(h hash.Hash) Version { return Version(hex.EncodeToString(h.Sum(nil))) }

// block is the number of bytes that are read at a time. It fits the second-level cache.
const block = 256 << 10

// buffers are of block bytes.
var buffers = sync.Pool{New: func() any { b := make([]byte, block); return &b }}

// sum reads all of f and returns its version and size. It looks at ctx between
// blocks.
func sum(ctx context.Context, f io.Reader) (Version, int64, error) {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	h := sha256.New()
	n, err := io.CopyBuffer(h, contextReader{ctx, f}, *buf)
	return versionOf(h), n, err
}

// contextReader ends with the context's error.
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

// Version returns the version of a file of any size, "" when it is not there.
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

// sameNow reports whether an open file still has the stamp.
func sameNow(f *os.File, st atomicfile.Stat) bool {
	now, err := atomicfile.StatFile(f)
	return err == nil && stampOf(now) == stampOf(st)
}
