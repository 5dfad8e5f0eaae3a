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

// text is the bytes of a file, which are read by offset.
type text struct {
	at     io.ReaderAt
	size   int64
	sparse *os.File // where holes can be skipped, else nil
	nl     string   // a line feed
}

// stride is the number of bytes between two counts of an index.
const stride = 64 << 10

// maxMarks bounds an index: 8 MB. A longer file gets a wider step.
const maxMarks = 1 << 20

// stepFor returns the step for a file of that size.
func stepFor(size int64) int64 {
	step := int64(stride)
	for size/step > maxMarks {
		step *= 2
	}
	return step
}

// lineIndex tells roughly where lines begin: marks[i] is the number of line feeds in
// the first (i+1)*step bytes. An index in the cache is not changed any more.
type lineIndex struct {
	marks  []int64
	step   int64
	feeds  int64 // in all that was scanned
	upTo   int64 // bytes scanned, a multiple of step or all
	done   bool  // all was scanned
	ragged bool  // and it does not end in a line feed
}

// lines returns how many lines there are in what was scanned.
func (x *lineIndex) lines() int64 {
	if x.done && x.ragged {
		return x.feeds + 1
	}
	return x.feeds
}

// scan counts on until there are want line feeds, or to the end, or until late says
// so. A nil late never does.
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

// count adds a block's line feeds.
func (x *lineIndex) count(t *text, b []byte) {
	for len(b) > 0 {
		room := x.step - x.upTo%x.step
		piece := b[:min(int64(len(b)), room, stride)]
		x.feeds += int64(countFeeds(piece, t.nl))
		x.upTo += int64(len(piece))
		if x.upTo%x.step == 0 {
			x.mark()
		}
		b = b[len(piece):]
	}
}

func (x *lineIndex) mark() { x.marks = append(x.marks, x.feeds) }

// skipHole passes over whole blocks of a hole, in which there are no line
// feeds, and reports whether it did.
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
		x.done, x.ragged = true, true
	}
	return true
}

func (x *lineIndex) finish(t *text, last []byte) {
	x.done = true
	if len(last) == 0 && x.upTo > 0 {
		// The end fell between two blocks.
		tail := make([]byte, len(t.nl))
		n, _ := t.at.ReadAt(tail, x.upTo-int64(len(tail)))
		x.ragged = string(tail[:n]) != t.nl
		return
	}
	x.ragged = len(last) > 0 && !bytes.HasSuffix(last, []byte(t.nl))
}

// cursor moves from line feed to line feed.
type cursor struct {
	x   *lineIndex
	t   *text
	buf []byte // stride bytes
	off int64  // of buf in the file
	b   []byte // the part of buf that was read
	at  int    // behind the last line feed found, in b
}

// next returns the offset of the k-th line feed, counted from 1. It must have been
// scanned. Calls in which k rises by one are cheap.
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

// errShrunk says that a file does not hold any more what its index was made from.
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

// nextFeed returns where the first line feed is, at a multiple of its length.
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

// indexes is a cache of the line indexes and versions of files that were read lately.
type indexes struct {
	mu    sync.Mutex
	known []*indexed // the latest used last
}

// indexed is what is known of a file as long as it has this stamp.
type indexed struct {
	path    string
	stamp   Stamp
	nl      string
	lines   lineIndex
	version Version // "" when it was not asked for
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

// store remembers e, which must not be changed afterwards.
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
