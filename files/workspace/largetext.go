package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"unicode/utf8"

	"github.com/stet-dev/stet/internal/atomicfile"
	"github.com/stet-dev/stet/internal/rawjson"
)

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
