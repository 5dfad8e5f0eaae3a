package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"io/fs"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/stet-dev/stet/internal/atomicfile"
	"github.com/stet-dev/stet/internal/rawjson"
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
		return "", found, fail("read", c.Info.Path.name, ErrBinary, whyBinary(c.Data))
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

// LargeText is a text file that was read once, in bounded memory, to check it and to count its lines. Open reads its text
// again, in pieces.
type LargeText struct {
	Info     Info
	Version  Version
	Encoding Encoding // UTF-8, with or without a byte-order mark
	Lines    int      // number of lines; text after the last line end counts as a line
	Text     int64    // size of the text in bytes, without the byte-order mark

	root *Root
	size int64 // size of the file in bytes
}

// LargeText reads a file of up to PartsLimit bytes once. The error is ErrTooLarge, ErrBinary or ErrEncoding if the file is
// larger, binary or invalid. If the text is in another encoding than UTF-8, the result is nil without an error. Use
// ReadLarge for such a file.
func (r *Root) LargeText(ctx context.Context, p Path, asked Encoding) (*LargeText, error) {
	return reading(r, p, func(f *opened) (*LargeText, error) {
		if limit := max(r.opt.ReadLimit, r.opt.PartsLimit); f.stat.Size > limit {
			return nil, because(ErrTooLarge, limitWords(f.stat.Size, limit))
		}
		s, err := checkText(ctx, f, asked)
		if err != nil || s == nil {
			return nil, err
		}
		if f.stat, err = atomicfile.StatFile(f.File); err != nil {
			return nil, err
		}
		s.root, s.Info = r, infoOf(f.path, f.stat)
		return s, nil
	})
}

// checkText reads the whole file.
func checkText(ctx context.Context, f *opened, asked Encoding) (*LargeText, error) {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	s, h := &LargeText{}, sha256.New()
	in := contextReader{ctx, io.NewSectionReader(f, 0, f.stat.Size)}
	kept := 0 // bytes of a character that continues in the next block
	for {
		n, err := io.ReadFull(in, (*buf)[kept:])
		end := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !end {
			return nil, err
		}
		b := (*buf)[:kept+n]
		h.Write(b[kept:])
		if s.size == 0 {
			if s.Encoding = sniff(b, asked); s.Encoding.name != "" {
				return nil, nil
			}
			if isBinary(b, s.Encoding) {
				return nil, because(ErrBinary, "")
			}
		}
		s.size += int64(n)
		whole := rawjson.WholeRunes(b)
		if end {
			whole = len(b)
		}
		if !utf8.Valid(b[:whole]) {
			return nil, because(ErrEncoding, "it is not "+s.Encoding.String())
		}
		s.Lines += bytes.Count(b[kept:], []byte{0x0a})
		if end {
			if len(b) > 0 && b[len(b)-1] != '\n' {
				s.Lines++
			}
			s.Version = versionOf(h)
			s.Text = s.size - int64(s.mark())
			return s, nil
		}
		kept = copy(*buf, b[whole:])
	}
}

// mark returns the length of the byte-order mark.
func (s *LargeText) mark() int {
	if !s.Encoding.bom {
		return 0
	}
	return len(s.Encoding.mark())
}

// Open opens the text for reading. If the file has changed, the last Read returns ErrChanged. The file stays open after the
// root is closed.
func (s *LargeText) Open() (io.ReadCloser, error) {
	file, _, err := s.root.Stream(s.Info.Path)
	if err != nil {
		return nil, err
	}
	t := &textReader{file: file, text: s, sum: sha256.New()}
	if _, err := io.CopyN(t.sum, file, int64(s.mark())); err != nil {
		return nil, errors.Join(t.changed(), file.Close())
	}
	t.left = s.Text
	return t, nil
}

// textReader reads the text of a file. At the end it checks that the file has the version of the LargeText.
type textReader struct {
	file io.ReadCloser
	text *LargeText
	sum  hash.Hash
	left int64 // bytes still to read
}

func (t *textReader) changed() error {
	return wrap("read", t.text.Info.Path.name, because(ErrChanged, "it was written to while it was read"))
}

// Read implements io.Reader.
func (t *textReader) Read(b []byte) (int, error) {
	if t.left == 0 {
		if versionOf(t.sum) != t.text.Version {
			return 0, t.changed()
		}
		return 0, io.EOF
	}
	n, err := t.file.Read(b[:min(int64(len(b)), t.left)])
	t.sum.Write(b[:n])
	if t.left -= int64(n); errors.Is(err, io.EOF) {
		err = t.changed()
	}
	return n, err
}

// Close implements io.Closer.
func (t *textReader) Close() error { return t.file.Close() }
