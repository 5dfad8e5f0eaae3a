package workspace

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/stet-dev/stet/internal/atomicfile"
)

// Content is the content of a whole file.
type Content struct {
	Info     Info
	Data     []byte // all bytes; the caller owns them
	Version  Version
	Unstable bool // the file was written to during the read: Data may mix old and new bytes
}

// Text returns the content as text, and its encoding: the one of the byte-order mark, or else asked. Use this encoding to write the text
// back. It returns ErrBinary for a binary file, and ErrEncoding for invalid bytes.
func (c Content) Text(asked Encoding) (string, Encoding, error) {
	found := sniff(c.Data, asked)
	if isBinary(c.Data, found) {
		return "", found, fail("read", c.Info.Path.name, ErrBinary, "")
	}
	text, ok := found.decode(c.Data[found.markIn(c.Data):], false)
	if !ok {
		return "", found, fail("read", c.Info.Path.name, ErrEncoding, "it is not "+found.String())
	}
	return text, found, nil
}

// Stream opens a file of any size for reading from its beginning, for a search or to pass it on. Nothing is kept, and changes during the
// read are not detected. The file stays open after the root is closed. A read that has to wait fails after a second.
func (r *Root) Stream(p Path) (io.ReadCloser, Info, error) {
	var info Info
	file, err := do(r, "read", p.name, func() (io.ReadCloser, error) {
		f, err := r.open(p)
		if err != nil {
			return nil, err
		}
		info = infoOf(f.path, f.stat)
		return f.stream(), nil
	})
	return file, info, err
}

// stream returns the file of f for reading from its beginning.
func (f *opened) stream() io.ReadCloser {
	// Some files of procfs make readers wait. For files on a disk the deadline is not supported; that error is ignored.
	_ = f.SetReadDeadline(time.Now().Add(time.Second))
	return f.File
}

// ReadAll reads a file of up to ReadLimit bytes as bytes; for text see Content.Text. If the file changes during the read, it is read
// again. The content is kept as a version, because a write may be based on it.
func (r *Root) ReadAll(ctx context.Context, p Path) (Content, error) {
	return r.readUpTo(ctx, p, r.opt.ReadLimit)
}

// ReadLarge is ReadAll with the limit PartsLimit, for callers that pass the content on in parts.
func (r *Root) ReadLarge(ctx context.Context, p Path) (Content, error) {
	return r.readUpTo(ctx, p, max(r.opt.ReadLimit, r.opt.PartsLimit))
}

func (r *Root) readUpTo(ctx context.Context, p Path, limit int64) (Content, error) {
	return reading(r, p, func(f *opened) (Content, error) {
		if f.stat.Size > limit {
			return Content{}, because(ErrTooLarge, limitWords(f.stat.Size, limit))
		}
		c, err := r.readWhole(ctx, f, limit)
		if err != nil {
			return Content{}, err
		}
		c.Info = infoOf(f.path, f.stat)
		return c, nil
	})
}

// readTries limits how often a changing file is read.
const readTries = 4

// readWhole reads all of f, again if it changed meanwhile, and updates f.stat. While the file is unsettled, equal times before
// and after prove nothing. Then a second read must give the same bytes.
func (r *Root) readWhole(ctx context.Context, f *opened, limit int64) (Content, error) {
	var c Content
	var before Version
	for try := range readTries {
		began := time.Now() // if the times are settled now, a later change shows in them
		data, err := readFull(ctx, f, f.stat.Size, limit)
		if err != nil {
			return Content{}, err
		}
		c.Data, c.Version = data, VersionOf(data)
		now, err := atomicfile.StatFile(f.File)
		if err != nil {
			return Content{}, err
		}
		calm := stampOf(now) == stampOf(f.stat) && int64(len(data)) == now.Size
		// Some files, of procfs for instance, have no size.
		calm = calm || now.Size == 0 && stampOf(now) == stampOf(f.stat)
		f.stat = now
		if calm && (c.Version == before || stampOf(now).Settled(began)) {
			break
		}
		before = c.Version
		if !calm {
			before = ""
		}
		c.Unstable = try == readTries-1
	}
	// An unstable content is kept too, because it is shown and a later edit may be based on it.
	r.keepShown(contentOf(c.Data, c.Version))
	return c, nil
}

// keepShown keeps a content that a caller was shown or has written, because a later write may be based on it. If that fails, the
// content is shown or written all the same.
func (r *Root) keepShown(c content) {
	if c.size > r.opt.WriteLimit {
		return
	}
	if err := r.state.versions.keep(c); err != nil {
		r.opt.Log.Warn("a version that was read or written is not kept", "err", r.state.fault("keep", err))
	}
}

// readFull reads size bytes of f from its beginning, or fewer if f is shorter. If size is 0 or above the limit, it reads to
// the end, because some files do not report their size. The caller checks the size afterwards to see if f has grown.
func readFull(ctx context.Context, f io.ReaderAt, size, limit int64) ([]byte, error) {
	most := limit + 1
	if size > 0 && size <= limit {
		most = size
	}
	var b bytes.Buffer
	b.Grow(int(min(size, limit)) + bytes.MinRead)
	_, err := b.ReadFrom(contextReader{ctx, io.NewSectionReader(f, 0, most)})
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err
	}
	if err == nil && int64(b.Len()) > limit {
		err = because(ErrTooLarge, limitWords(int64(b.Len()), limit))
	}
	if err != nil {
		return nil, err
	}
	return slices.Clip(b.Bytes()), nil
}
