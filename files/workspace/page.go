package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/stet-dev/stet/internal/atomicfile"
)

// PageRequest says which lines of a file to read. A zero field means the default.
type PageRequest struct {
	Line   int // number of the first line, from 1; default 1
	Lines  int // largest number of lines; default 500
	Column int // where the first line begins, in characters from 1; default 1
	Width  int // largest number of characters of a line; default 2000; -1: no limit
	Bytes  int // largest size of the page, with line ends; default 1 MB, at most ReadLimit

	Encoding Encoding // if the file has no byte-order mark
	Replace  bool     // replace invalid bytes by U+FFFD, instead of returning ErrEncoding
	Version  bool     // compute the version of a large file, too, up to ReadLimit bytes
}

// Line is a line of a page.
type Line struct {
	Number int    // from 1
	Column int    // column of the first character of Text, from 1
	Text   string // without the line end
	End    string // "\n", "\r\n", or "" at the end of the file or if the line was cut
	More   int    // the column at which the rest of a cut line begins; 0: the line was not cut
}

// Page is a part of a file, by lines.
type Page struct {
	Info     Info
	Lines    []Line
	Total    int // number of lines in the file; -1 if counting took too long
	AtLeast  int // number of counted lines; equal to Total if that is known
	Next     int // number of the line after the page; 0: the page reaches the end of the file, or that line's start is not known
	Encoding Encoding
	Fallback bool    // invalid bytes were replaced in Text
	Version  Version // "" if it was not computed: the file is large, and PageRequest.Version is not set
	Unstable bool    // the file was written to during the read
}

// wholeLimit is the largest size of a file that is read completely for a page.
const wholeLimit = mb

func (q PageRequest) withDefaults(limit int64) (PageRequest, error) {
	if q.Line < 0 || q.Lines < 0 || q.Column < 0 || q.Width < -1 || q.Bytes < 0 {
		return q, because(ErrRange, "lines and columns count from 1")
	}
	set := func(v *int, d int) {
		*v = cmp.Or(*v, d)
	}
	set(&q.Line, 1)
	set(&q.Lines, 500)
	set(&q.Column, 1)
	set(&q.Width, 2000)
	set(&q.Bytes, mb)
	q.Bytes = int(min(int64(q.Bytes), limit))
	return q, nil
}

// Page reads a part of a file of any size, in bounded memory. If the first line is after the end of the file, the error is
// ErrRange, and Error.Lines is the number of lines. Line 1 of an empty file gives an empty page.
func (r *Root) Page(ctx context.Context, p Path, q PageRequest) (Page, error) {
	q, err := q.withDefaults(r.opt.ReadLimit)
	if err != nil {
		return Page{}, wrap("read", p.name, err)
	}
	return reading(r, p, func(f *opened) (Page, error) { return r.page(ctx, f, q) })
}

func (r *Root) page(ctx context.Context, f *opened, q PageRequest) (Page, error) {
	for try := 0; ; try++ {
		pg, err := r.pageOnce(ctx, f, q)
		again := errors.Is(err, errShrunk) || err == nil && pg.Unstable
		if again && try < readTries-1 {
			if f.stat, err = atomicfile.StatFile(f.File); err != nil {
				return Page{}, err
			}
			continue
		}
		if errors.Is(err, errShrunk) {
			err = &Error{Err: ErrChanged, Detail: "it is being written to"}
		}
		return pg, err
	}
}

func (r *Root) pageOnce(ctx context.Context, f *opened, q PageRequest) (Page, error) {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	head := (*buf)[:binaryWithin]
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return Page{}, err
	}
	head = head[:n]
	enc := sniff(head, q.Encoding)
	if isBinary(head, enc) {
		return Page{}, because(ErrBinary, whyBinary(head))
	}
	nl, splits := enc.newline()
	if !splits {
		return Page{}, because(ErrEncoding, "files in "+enc.String()+" can only be read whole")
	}
	b := &pager{root: r, ctx: ctx, f: f, q: q, began: time.Now(), buf: *buf, text: text{at: f, size: f.stat.Size, nl: nl}}
	b.page.Encoding = enc
	return b.run()
}

// pager makes one page.
type pager struct {
	root  *Root
	ctx   context.Context
	f     *opened
	q     PageRequest
	buf   []byte // of block bytes
	text  text
	index indexed
	page  Page

	began time.Time // a time before the first byte was read
}

func (b *pager) run() (Page, error) {
	if err := b.load(); err != nil {
		return Page{}, err
	}
	b.page.Info = infoOf(b.f.path, b.f.stat)
	if err := b.count(); err != nil {
		return Page{}, err
	}
	if err := b.lines(); err != nil {
		return Page{}, err
	}
	if !sameNow(b.f.File, b.f.stat) {
		b.page.Unstable = true
	}
	if b.text.at == io.ReaderAt(b.f) && !b.page.Unstable && b.f.stat.Size > 0 && b.page.Info.Stamp.Settled(b.began) {
		b.root.pages.store(b.index)
	}
	return b.page, nil
}

// load decides what is read. A small file is read into memory, and its version is known. Otherwise the bytes come from the
// file, and its index may be in the cache.
func (b *pager) load() error {
	size, o := b.f.stat.Size, b.root.opt
	b.index, _ = b.root.pages.find(b.f.path, stampOf(b.f.stat), b.text.nl)
	whole := size <= wholeLimit || b.q.Version && b.index.version == "" && size <= o.WriteLimit
	switch {
	case whole:
		c, err := b.root.readWhole(b.ctx, b.f, max(wholeLimit, o.WriteLimit)+1)
		if err != nil {
			return err
		}
		b.text.at, b.text.size = memory(c.Data), int64(len(c.Data))
		b.page.Version, b.page.Unstable = c.Version, c.Unstable
		b.index = indexed{}
	case b.q.Version && b.index.version == "" && size <= o.ReadLimit:
		v, _, err := sum(b.ctx, io.NewSectionReader(b.f, 0, size))
		if err != nil {
			return err
		}
		b.index.version = v
		b.page.Version = v
	default:
		b.page.Version = b.index.version
	}
	if !whole && b.f.stat.Blocks >= 0 && b.f.stat.Blocks < size-mb {
		b.text.sparse = b.f.File
	}
	if b.index.lines.step == 0 {
		b.index.lines.step = stepFor(size)
	}
	b.index.path, b.index.stamp, b.index.nl = b.f.path, stampOf(b.f.stat), b.text.nl
	return nil
}

// memory is the content of a file.
type memory []byte

func (m memory) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(m)) {
		return 0, io.EOF
	}
	n := copy(p, m[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// count counts the lines before the page, and then the other lines for a limited time.
func (b *pager) count() error {
	x := &b.index.lines
	need := int64(b.q.Line - 1)
	if err := x.scan(b.ctx, &b.text, need, nil, b.buf); err != nil {
		return err
	}
	deadline := b.root.seams.time().Add(b.root.opt.CountTime)
	late := func() bool { return b.root.seams.time().After(deadline) }
	if err := x.scan(b.ctx, &b.text, math.MaxInt64, late, b.buf); err != nil {
		return err
	}
	b.page.Total = -1
	b.page.AtLeast = int(x.lines())
	if !x.done {
		return nil
	}
	total := x.lines()
	if b.mark() >= b.text.size {
		total = 0 // the file has at most a byte-order mark
	}
	b.page.Total, b.page.AtLeast = int(total), int(total)
	if int64(b.q.Line) > max(total, 1) {
		lines := fmt.Sprintf("the file has %d lines", total)
		if total == 1 {
			lines = "the file has 1 line"
		}
		head := b.buf[:binaryWithin]
		n, _ := b.text.at.ReadAt(head, 0) // if it cannot be read, only the hint is missing
		return &Error{Err: ErrRange, Detail: lines, Lines: int(total), ByCR: total == 1 && bytes.IndexByte(head[:n], '\r') >= 0}
	}
	return nil
}

// mark returns the length of the byte-order mark.
func (b *pager) mark() int64 {
	if !b.page.Encoding.bom {
		return 0
	}
	return int64(len(b.page.Encoding.mark()))
}

// lines reads the page's lines.
func (b *pager) lines() error {
	if b.page.Total == 0 {
		return nil
	}
	x, t, nl := &b.index.lines, &b.text, int64(len(b.text.nl))
	c := cursor{x: x, t: t, buf: b.buf[:stride]}
	start := b.mark()
	if b.q.Line > 1 {
		at, err := c.seek(b.ctx, int64(b.q.Line-1))
		if err != nil {
			return err
		}
		start = at + nl
	}
	g := &getter{ctx: b.ctx, t: t, enc: b.page.Encoding, replace: b.q.Replace, width: b.q.Width}
	left := b.q.Bytes
	column := b.q.Column
	for n := b.q.Line; len(b.page.Lines) < b.q.Lines; n++ {
		s := span{start: start}
		switch {
		case int64(n) <= x.feeds:
			at, err := c.next(b.ctx, int64(n))
			if err != nil {
				return err
			}
			s.end, s.next = at, at+nl
		case x.done:
			if start >= t.size {
				return nil
			}
			s.end, s.next = t.size, t.size
		case start >= t.size:
			b.page.Next = 0
			return nil
		default:
			var err error
			if s, err = g.peek(start, b.q.Bytes); err != nil {
				return err
			}
		}
		line, used, err := g.line(s, column, b.q.Bytes)
		if err != nil {
			return err
		}
		used += len(line.End)
		if used > left && len(b.page.Lines) > 0 {
			b.page.Next = n
			return nil
		}
		b.page.Fallback = b.page.Fallback || g.fellBack
		line.Number = n
		b.page.Lines = append(b.page.Lines, line)
		left -= used
		column, start = 1, s.next
		if s.end < 0 {
			b.page.Next = 0 // it is not known where the next line begins
			return nil
		}
		b.page.Next = n + 1
		if x.done && int64(n) >= x.lines() {
			b.page.Next = 0
		}
	}
	return nil
}

// cut reports whether a line is cut.
func (p *Page) cut() bool {
	return slices.ContainsFunc(p.Lines, func(l Line) bool { return l.More > 0 })
}

// Complete reports whether the page reaches the end of the file and has no cut line. It may begin at any line.
func (p *Page) Complete() bool { return p.Next == 0 && !p.cut() }
