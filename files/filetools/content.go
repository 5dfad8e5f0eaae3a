package filetools

import (
	"context"
	"errors"
	"fmt"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/tool"
)

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
	if err := hold(ctx, writeCopies*min(t.Size, q.root.WriteLimit())); err != nil {
		return nil, err
	}
	c, err := q.root.ReadAll(ctx, t.Path)
	switch {
	case errors.Is(err, workspace.ErrTooLarge) && t.Size > maxReplaced:
		return nil, fail(tool.FileTooLarge, fmt.Sprintf("the file that is there has %d bytes, and one of more than %d is not replaced", t.Size, maxReplaced))
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
// has, unless a call that replaces all of it asks for another one. (FILE-16)
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
	return asked, now.unreadable
}

// checkSize refuses what is too large, before a person is asked. (FILE-8, FILE-9)
func (q *toolCall) checkSize(n int) error {
	limit := q.root.WriteLimit()
	if q.call.Staged != nil {
		limit = q.root.PartsLimit()
	}
	if int64(n) > limit {
		return fail(tool.FileTooLarge, fmt.Sprintf("%d bytes, the limit is %d", n, limit))
	}
	return nil
}
