package filetools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/tool"
)

// Large files: the memory that calls may hold, contents that come in parts, and
// contents that go to the caller apart from the result.

// The number of copies of a file that a call holds in memory at most: its bytes, its
// text and its result as JSON; for a write also the new content, and the diff.
const (
	readCopies  = 4
	writeCopies = 6
)

// freeBytes is the number of bytes that a call may hold without being counted.
const freeBytes = 256 << 10

// hold takes n bytes of the memory that the caller allows its calls, and waits a while
// for them. The caller gives them back when it has sent the result.
func hold(ctx context.Context, n int64) error {
	if n <= freeBytes {
		return nil
	}
	err := limits.Take(ctx, n)
	switch {
	case errors.Is(err, limits.ErrFull):
		return fail(tool.RateLimited, "too many bytes are held for other calls. Try again in 5.0 s")
	case errors.Is(err, limits.ErrTooLarge):
		return fail(tool.FileTooLarge, "the file is larger than what is held in memory; read it in parts by start_line and end_line")
	}
	return err
}

// Stage begins a content that comes in parts, for tool.Call.Staged. The parts are
// collected outside of the tree. (FILE-9)
func (t *Tools) Stage(c tool.Call) (tool.Staged, error) {
	var named struct{ Path string }
	p, err := t.root.Path(".")
	if json.Unmarshal(c.Arguments, &named) == nil {
		if there, wrong := t.root.Path(t.relative(c, named.Path)); wrong == nil { // else the call fails by it
			p = there
		}
	}
	if err != nil {
		return nil, err
	}
	return t.root.Stage(p)
}

// arguments parses the arguments, to which a content that came in parts is added.
func (q *toolCall) arguments() (values, error) {
	if q.call.Staged == nil {
		return q.def.params.parse(q.call.Arguments)
	}
	i := slices.IndexFunc(q.def.params, func(p param) bool { return p.name == "content" })
	if i < 0 {
		return nil, badArgument("content", "%s takes none.", q.def.name)
	}
	args, err := slices.Delete(slices.Clone(q.def.params), i, i+1).parse(q.call.Arguments)
	if err != nil {
		return nil, err
	}
	data, err := q.call.Staged.Bytes()
	switch {
	case err != nil:
		return nil, err
	case !utf8.Valid(data):
		return nil, badArgument("content", "its parts are not UTF-8.")
	}
	args["content"] = string(data)
	return args, nil
}

// readStream is a read whose content goes from the disk to the caller in bounded
// memory. (FILE-8, FILE-9)
func (q *toolCall) readStream(s *workspace.LargeText) *tool.Plan {
	q.canonical = s.Info.Path.String()
	body := readText{size: s.Text, open: func() (io.ReadCloser, error) {
		r, err := s.Open()
		return changing{r}, err
	}}
	d := readFileData{Version: id(s.Version), Total: &s.Lines}
	return q.readDone(s.Info, s.Version, s.Encoding, freshness.Range{}, body, s.Lines, d)
}

// changing is a reader whose ErrChanged is that of package tool too.
type changing struct{ io.ReadCloser }

// Read implements io.Reader.
func (c changing) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	if errors.Is(err, workspace.ErrChanged) {
		err = fmt.Errorf("%w: %w", tool.ErrChanged, err)
	}
	return n, err
}

// readText is the text that a read shows.
type readText struct {
	text string
	open func() (io.ReadCloser, error) // nil: it is text
	size int64                         // bytes
}

func inMemory(text string) readText { return readText{text: text, size: int64(len(text))} }

// apart is the size, in bytes, above which a text does not go into the result, where
// the caller takes it apart from the result.
const apart = 1 << 20

// content is the text apart from the result, nil where it goes into the result.
func (t readText) content(c tool.Call) (*tool.Content, error) {
	switch {
	case t.open != nil:
		r, err := t.open()
		if err != nil {
			return nil, err
		}
		return &tool.Content{ReadCloser: r, Size: t.size}, nil
	case c.Large && t.size > apart:
		return &tool.Content{ReadCloser: io.NopCloser(strings.NewReader(t.text)), Size: t.size}, nil
	}
	return nil, nil
}
