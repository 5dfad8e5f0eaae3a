package workspace

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"sort"
	"sync"
)

// text is the bytes of a file, read by offset.
type text struct {
	at     io.ReaderAt
	size   int64
	sparse *os.File // the file, if its holes can be skipped; otherwise nil
	nl     string   // the bytes of a line feed
}

// stride is the default number of bytes between two marks of an index.
const stride = 64 << 10

// maxMarks is the largest number of marks of an index: 8 MB. A longer file gets a larger step.
const maxMarks = 1 << 20

// stepFor returns the step for a file of that size.
func stepFor(size int64) int64 {
	step := int64(stride)
	for size/step > maxMarks {
		step *= 2
	}
	return step
}

// lineIndex says approximately where lines begin: marks[i] is the number of line feeds in the first (i+1)*step bytes. An
// index in the cache is never changed.
type lineIndex struct {
	marks        []int64
	step         int64
	feeds        int64 // number of line feeds in the scanned bytes
	upTo         int64 // number of scanned bytes: a multiple of step, or the size of the file
	done         bool  // the whole file was scanned
	unterminated bool  // the scanned file does not end with a line feed
}

// lines returns the number of lines in the scanned bytes.
func (x *lineIndex) lines() int64 {
	if x.done && x.unterminated {
		return x.feeds + 1
	}
	return x.feeds
}

// scan continues to count until there are want line feeds, until the end of the file, or until late returns true. late may
// be nil.
func (x *lineIndex) scan(ctx context.Context, t *text, want int64, late func() bool, buf []byte) error {
	for !x.done && x.feeds < want {
		if err := ctx.Err(); err != nil {
			return err
		}
		if late != nil && late() {
			return nil
		}
		if t.sparse != nil && x.skipHole(t) {
			continue
		}
		n, err := t.at.ReadAt(buf[:block], x.upTo)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		x.count(t, buf[:n])
		if n < block {
			x.finish(t, buf[:n])
		}
	}
	if !x.done && x.upTo >= t.size {
		x.finish(t, nil)
	}
	return nil
}

// count counts the line feeds of a block.
func (x *lineIndex) count(t *text, b []byte) {
	for len(b) > 0 {
		left := x.step - x.upTo%x.step
		piece := b[:min(int64(len(b)), left, stride)]
		x.feeds += int64(countFeeds(piece, t.nl))
		x.upTo += int64(len(piece))
		if x.upTo%x.step == 0 {
			x.mark()
		}
		b = b[len(piece):]
	}
}

func (x *lineIndex) mark() { x.marks = append(x.marks, x.feeds) }

// skipHole skips whole blocks of a hole, which have no line feeds. It reports whether it skipped any.
func (x *lineIndex) skipHole(t *text) bool {
	data := nextData(t.sparse, x.upTo, t.size)
	if data < t.size {
		data -= data % block
	}
	if data <= x.upTo {
		return false
	}
	for x.upTo < data {
		n := min(data-x.upTo, x.step-x.upTo%x.step)
		x.upTo += n
		if x.upTo%x.step == 0 {
			x.mark()
		}
	}
	if x.upTo >= t.size {
		x.done, x.unterminated = true, true
	}
	return true
}

func (x *lineIndex) finish(t *text, last []byte) {
	x.done = true
	if len(last) == 0 && x.upTo > 0 {
		// The end of the file is the end of the last full block.
		tail := make([]byte, len(t.nl))
		n, _ := t.at.ReadAt(tail, x.upTo-int64(len(tail)))
		x.unterminated = string(tail[:n]) != t.nl
		return
	}
	x.unterminated = len(last) > 0 && !bytes.HasSuffix(last, []byte(t.nl))
}

// cursor finds the line feeds of a file in their order.
type cursor struct {
	x   *lineIndex
	t   *text
	buf []byte // of stride bytes
	off int64  // offset of buf in the file
	b   []byte // the bytes that were read into buf
	at  int    // offset in b after the last line feed found
}

// next returns the offset of the k-th line feed, counted from 1. The line feed must have been scanned. k must be one more
// than in the call before.
func (c *cursor) next(ctx context.Context, k int64) (int64, error) {
	if j := nextFeed(c.b[c.at:], c.t.nl); j >= 0 && c.b != nil {
		c.at += j + len(c.t.nl)
		return c.off + int64(c.at-len(c.t.nl)), nil
	}
	return c.seek(ctx, k)
}

// seek is next for any k.
func (c *cursor) seek(ctx context.Context, k int64) (int64, error) {
	marks, t := c.x.marks, c.t
	i := sort.Search(len(marks), func(i int) bool { return marks[i] >= k })
	off, seen := int64(i)*c.x.step, int64(0)
	if i > 0 {
		seen = marks[i-1]
	}
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if t.sparse != nil {
			if data := nextData(t.sparse, off, t.size); data-data%stride > off {
				off = data - data%stride
			}
		}
		n, err := t.at.ReadAt(c.buf, off)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		c.b, c.off, c.at = c.buf[:n], off, 0
		if f := int64(countFeeds(c.b, t.nl)); seen+f < k {
			if n < len(c.buf) {
				return 0, errShrunk
			}
			seen += f
			off += int64(n)
			continue
		}
		for ; seen < k; seen++ {
			c.at += nextFeed(c.b[c.at:], t.nl) + len(t.nl)
		}
		return off + int64(c.at-len(t.nl)), nil
	}
}

// errShrunk means that the file no longer has the content of its index.
var errShrunk = errors.New("changed while it was read")

func countFeeds(b []byte, nl string) int {
	if len(nl) == 1 {
		return bytes.Count(b, []byte{nl[0]})
	}
	n := 0
	for {
		i := nextFeed(b, nl)
		if i < 0 {
			return n
		}
		n++
		b = b[i+len(nl):]
	}
}

// nextFeed returns the offset of the first line feed. The offset is a multiple of its length.
func nextFeed(b []byte, nl string) int {
	if len(nl) == 1 {
		return bytes.IndexByte(b, nl[0])
	}
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte(nl))
		if i < 0 {
			return -1
		}
		if at += i; at%len(nl) == 0 {
			return at
		}
		at++
	}
}

// indexes is a cache of the line indexes and versions of recently read files.
type indexes struct {
	mu    sync.Mutex
	known []*indexed // the most recently used last
}

// indexed is what is known about a file. It is valid as long as the file has this stamp.
type indexed struct {
	path    string
	stamp   Stamp
	nl      string
	lines   lineIndex
	version Version // "": it was not computed
}

const (
	maxIndexes  = 64
	maxAllMarks = 4 << 20
)

func (x *indexes) find(path string, stamp Stamp, nl string) (indexed, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i, e := range x.known {
		if e.path == path && e.stamp == stamp && e.nl == nl {
			x.known = append(slices.Delete(x.known, i, i+1), e)
			return *e, true
		}
	}
	return indexed{}, false
}

// store adds e to the cache. e must not be changed after that.
func (x *indexes) store(e indexed) {
	e.lines.marks = slices.Clip(e.lines.marks)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.known = slices.DeleteFunc(x.known, func(o *indexed) bool { return o.path == e.path && o.nl == e.nl })
	x.known = append(x.known, &e)
	all := 0
	for i := len(x.known) - 1; i >= 0; i-- {
		all += len(x.known[i].lines.marks)
		if len(x.known)-i > maxIndexes || all > maxAllMarks {
			x.known = slices.Delete(x.known, 0, i+1)
			return
		}
	}
}
