package filetools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/internal/diff"
	"github.com/stet-dev/stet/internal/edit"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/tool"
)

// What a file holds: its bytes, its text, the encoding between them, and the memory that they take.

// content is what a file holds: now, or when it was read or written before. The
// zero content is that of a file that does not exist.
type content struct {
	version workspace.Version
	data    []byte
	text    string
	enc     workspace.Encoding
	info    workspace.Info

	unreadable error // why there is no text
	large      bool  // there is no data either: the file is too large to be read whole
}

// newContent decodes data. What is no text is no error here.
func newContent(v workspace.Version, data []byte, asked workspace.Encoding) *content {
	c := &content{version: v, data: data}
	c.text, c.enc, c.unreadable = decode(data, asked)
	return c
}

// maxReplaced is the size, in bytes, of the largest file that is written to. A
// file is hashed whole before it is replaced, which takes seconds for this size.
const maxReplaced = 1 << 30

// current reads what the target holds now. If the file is removed meanwhile, t
// says so afterwards.
func (q *toolCall) current(ctx context.Context, t *workspace.Target, asked workspace.Encoding) (*content, error) {
	if !t.Exists() {
		return &content{}, nil
	}
	if err := hold(ctx, writeCopies, min(t.Size, q.root.WriteLimit())); err != nil {
		return nil, err
	}
	c, err := q.root.ReadAll(ctx, t.Path)
	switch {
	case errors.Is(err, workspace.ErrTooLarge) && t.Size > maxReplaced:
		return nil, fail(tool.FileTooLarge, fmt.Sprintf("%s has %d bytes now, and a file of more than %d is not replaced; write to another path", quoted(limits.Shorten(q.path, 200)), t.Size, maxReplaced))
	case errors.Is(err, workspace.ErrTooLarge):
		v, verr := q.root.Version(ctx, t.Path)
		if verr != nil {
			return nil, verr
		}
		return &content{version: v, info: t.Info, unreadable: err, large: true}, nil
	case errors.Is(err, workspace.ErrNotFound):
		t.Kind = workspace.Missing
		return &content{}, nil
	case err != nil:
		return nil, err
	}
	now := newContent(c.Version, c.Data, asked)
	now.info = c.Info
	if q.options.convert {
		now.asFound()
	}
	return now, nil
}

// readToWrite reads what the target holds now, in the encoding that was asked for, or
// else in the one in which the session last read or wrote the file.
func (q *toolCall) readToWrite(ctx context.Context, t *workspace.Target, whole bool) (*content, error) {
	if err := q.takeEncoding(); err != nil {
		return nil, err
	}
	e, known := q.ses.encoding(t.Path.String())
	if known && !q.options.asked {
		q.options.encoding = e
	}
	q.options.convert = whole && !(known && e == q.options.encoding)
	return q.current(ctx, t, q.options.encoding)
}

// asFound decodes the content again as UTF-8, or as its byte-order mark says, if
// it is valid so. The encoding that a write asks for is the one that the file is
// to have, which may be another one than it has.
func (c *content) asFound() {
	if c.data == nil || c.enc.Stateful() && c.unreadable == nil && c.text != string(c.data) { // its bytes are ASCII too
		return
	}
	if text, enc, err := decode(c.data, workspace.Encoding{}); err == nil {
		c.text, c.enc, c.unreadable = text, enc, nil
	}
}

// encodingFor is the encoding in which a text is written: the one that the file
// has, unless a call that replaces all of it asks for another one.
func (q *toolCall) encodingFor(t *workspace.Target, now *content, keep bool) (workspace.Encoding, error) {
	asked := q.options.encoding
	if !t.Exists() {
		return asked, nil
	}
	plain := asked.WithBOM(false) == workspace.Encoding{}
	keep = keep || !q.options.asked
	switch {
	case now.unreadable == nil && (keep || plain || asked.String() == now.enc.String()):
		return now.enc, nil
	case now.unreadable == nil:
		return asked.WithBOM(asked.BOM() || now.enc.BOM()), nil
	case q.options.asked || now.large:
		return asked, nil
	}
	return asked, encodingAdvice(now.unreadable, nameEncoding)
}

// checkSize refuses what is too large, before a person is asked.
func (q *toolCall) checkSize(n int) error {
	limit := q.root.WriteLimit()
	if q.call.Staged != nil {
		limit = q.root.PartsLimit()
	}
	if int64(n) > limit {
		return fail(tool.FileTooLarge, fmt.Sprintf("%s would have %d bytes, and a write may have %d; put it into several files", quoted(limits.Shorten(q.path, 200)), n, limit))
	}
	return nil
}

// reencode returns the bytes of a text that replaces the text of a file. What the old
// text has too keeps its bytes, however they were encoded; of the edits that made the
// text, all that is outside of what they matched.
func reencode(old *content, text string, enc workspace.Encoding, edits []edit.Edit) ([]byte, error) {
	if enc.OneForm() || old.version == "" || old.unreadable != nil || old.enc.WithBOM(false) != enc.WithBOM(false) {
		return enc.Encode(text)
	}
	var pieces []workspace.Piece
	if r, err := applyEdits(old.text, edits); err == nil && string(r.Data) == text {
		for _, s := range r.Spans {
			pieces = append(pieces, workspace.Piece{Start: s.Start, End: s.End, New: text[s.NewStart:s.NewEnd]})
		}
	} else {
		pieces = changedPieces(old.text, text)
	}
	return enc.Splice(old.data, old.text, pieces)
}

// changedPieces are the characters in which two texts differ.
func changedPieces(old, text string) []workspace.Piece {
	var pieces []workspace.Piece
	lines, aligner, numbers := lineStarts(old), diff.Aligner{Work: diff.MaxWork}, map[rune]int32{}
	number := func(s string) (all []int32) {
		for _, r := range s {
			if _, ok := numbers[r]; !ok {
				numbers[r] = int32(len(numbers))
			}
			all = append(all, numbers[r])
		}
		return all
	}
	for _, h := range diff.Lines(old, text, diff.Options{Context: -1}).Hunks {
		first := h.OldStart - 1
		if h.OldLines == 0 {
			first = h.OldStart
		}
		from := lines[first]
		was := old[from:lines[first+h.OldLines]]
		var b strings.Builder
		for _, l := range h.Lines {
			if l.Kind == diff.Added {
				b.WriteString(l.Text)
			}
		}
		now, i, j, runesI, runesJ := b.String(), 0, 0, 0, 0
		x, y := number(was), number(now)
		for _, c := range aligner.Align(x, y, len(numbers)) {
			i, j = i+width(was[i:], c.A0-runesI), j+width(now[j:], c.B0-runesJ)
			endI, endJ := i+width(was[i:], c.A1-c.A0), j+width(now[j:], c.B1-c.B0)
			pieces = append(pieces, workspace.Piece{Start: from + i, End: from + endI, New: now[j:endJ]})
			i, j, runesI, runesJ = endI, endJ, c.A1, c.B1
		}
	}
	return pieces
}

// width is the length of the first n characters of s, in bytes.
func width(s string, n int) int {
	size := 0
	for range n {
		_, one := utf8.DecodeRuneInString(s[size:])
		size += one
	}
	return size
}

// lineStarts are the bytes at which the lines of a text begin, and its end.
func lineStarts(text string) []int {
	starts := []int{0}
	for _, line := range splitLines(text) {
		starts = append(starts, starts[len(starts)-1]+len(line))
	}
	return starts
}

func splitLines(text string) []string { return slices.Collect(strings.Lines(text)) }

// The number of copies of a file that a call holds in memory at most: its bytes, its
// text and its result as JSON; for a write also the new content, and the diff.
const (
	readCopies  = 4
	writeCopies = 6
)

// freeBytes is the number of bytes that a call may hold without being counted.
const freeBytes = 256 << 10

// hold takes the memory for copies of a file of so many bytes out of what the caller allows its calls, and waits a while
// for it. The caller gives it back when it has sent the result.
func hold(ctx context.Context, copies, size int64) error {
	if copies*size <= freeBytes {
		return nil
	}
	err := limits.Take(ctx, copies*size)
	switch {
	case errors.Is(err, limits.ErrFull):
		return fail(tool.RateLimited, "too many bytes are held for other calls. Try again in 5.0 s")
	case errors.Is(err, limits.ErrTooLarge):
		return fail(tool.FileTooLarge, fmt.Sprintf("the file has %d bytes, more than are held in memory for one call (%v); read it in parts by start_line and end_line", size, err))
	}
	return err
}
