package filetools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/tool"
)

// The tool read_file: a whole file, a part of it, or a large one that goes to the caller apart from the result.

const (
	aboutPath     = "Path to the file relative to project workspace"
	aboutEncoding = "File encoding (default: utf-8)"
)

var readFileTool = &toolDef{
	name: "read_file", readOnly: true, plan: planReadFile,
	params: params{
		{name: "path", typ: "string", about: aboutPath, required: true},
		{name: "encoding", typ: "string", about: aboutEncoding, def: `"utf-8"`},
		{name: "start_line", typ: "integer", about: "Starting line number (1-based, inclusive)", min: 1, hasMin: true},
		{name: "end_line", typ: "integer", about: "Ending line number (1-based, inclusive)", min: 1, hasMin: true},
		paramFull,
	},
}

// readFileData goes with the content, the file's identity among it.
type readFileData struct {
	Path     string `json:"path"`
	Version  string `json:"version,omitempty"`
	Encoding string `json:"encoding,omitempty"` // where it is not plain utf-8

	StartLine int  `json:"start_line,omitempty"` // of a part
	EndLine   int  `json:"end_line,omitempty"`
	Total     *int `json:"total_lines,omitempty"` // -1: more than could be counted
	Next      int  `json:"next_line,omitempty"`   // where the file goes on, when the part ended short of end_line

	Unchanged bool `json:"unchanged,omitempty"`
	Diff      bool `json:"diff,omitempty"` // content is what changed since the last read
	Unstable  bool `json:"unstable,omitempty"`
}

// planReadFile is read_file.
func planReadFile(ctx context.Context, q *toolCall) (*tool.Plan, error) {
	p, err := q.root.Path(q.path)
	if err != nil {
		return nil, err
	}
	if err := q.takeEncoding(); err != nil {
		return nil, err
	}
	first, last := q.args.num("start_line", 1), q.args.num("end_line", 0)
	if last > 0 && last < first {
		return nil, badArgument("end_line", "%d is before start_line %d.", last, first)
	}
	if !q.args.has("start_line") && !q.args.has("end_line") {
		return q.readWhole(ctx, p)
	}
	return q.readPart(ctx, p, first, last)
}

// takeEncoding takes the encoding from the arguments.
func (q *toolCall) takeEncoding() error {
	e, err := workspace.FindEncoding(q.args.str("encoding"))
	if err != nil {
		return fail(tool.EncodingError, fmt.Sprintf("no encoding called '%s' is known; use a name of IANA, such as utf-16le, windows-1252, gbk or shift_jis", quoted(limits.Shorten(q.args.str("encoding"), 200))))
	}
	q.options = readOptions{encoding: e, asked: q.args.has("encoding")}
	return nil
}

func (q *toolCall) readWhole(ctx context.Context, p workspace.Path) (*tool.Plan, error) {
	info, _ := q.root.Inspect(p) // what is wrong with the file, reading it says
	if q.call.Large && info.Size > q.root.WriteLimit() {
		s, err := q.root.LargeText(ctx, p, q.options.encoding)
		if err != nil {
			return nil, err
		}
		if s != nil {
			return q.readStream(s), nil
		}
	}
	read := q.root.ReadAll
	if q.call.Large {
		read = q.root.ReadLarge
	} else if info.Size > q.root.ReadLimit() { // there is no need for memory to say so
		info.Size = 0
	}
	if err := hold(ctx, readCopies, info.Size); err != nil {
		return nil, err
	}
	c, err := read(ctx, p)
	if err != nil {
		return nil, withAdvice(err, tool.FileTooLarge, "; read it in parts by start_line and end_line")
	}
	q.canonical = c.Info.Path.String()
	text, enc, err := decode(c.Data, q.options.encoding)
	if err != nil {
		return nil, encodingAdvice(err, nameEncoding)
	}
	d := readFileData{Version: id(c.Version), Unstable: c.Unstable}
	n := countLines(text)
	d.Total = &n
	return q.readDone(c.Info, c.Version, enc, freshness.Range{}, inMemory(text), n, d), nil
}

// decode returns the text of a file, or says why it has none.
func decode(data []byte, asked workspace.Encoding) (string, workspace.Encoding, error) {
	text, enc, err := workspace.Content{Data: data}.Text(asked)
	switch {
	case errors.Is(err, workspace.ErrBinary):
		err = notText(err)
	case errors.Is(err, workspace.ErrEncoding):
		err = fail(tool.EncodingError, "the file is not valid "+enc.String())
	}
	return text, enc, err
}

// notText is the failure of a call that needs the text of a binary file.
func notText(err error) error {
	f := fail(tool.BinaryFile, "the file is binary")
	if errors.As(err, &f.cause) && f.cause.Detail != "" {
		f.message += "; " + f.cause.Detail
	}
	return f
}

const nameEncoding = "; give its encoding by the argument encoding" // of a tool that takes one

// encodingAdvice adds to an error in the file's encoding what the caller can do.
func encodingAdvice(err error, advice string) error {
	if f, ok := asFailure(err); ok && f.seemsText() {
		return withAdvice(err, tool.BinaryFile, advice)
	}
	return withAdvice(err, tool.EncodingError, advice)
}

// withAdvice adds to an error with a code what the caller can do; any other error stays.
func withAdvice(err error, code tool.Code, advice string) error {
	f, ok := asFailure(err)
	if !ok || f.code != code {
		return err
	}
	named := *f
	named.message += advice
	return &named
}

// A part has at most so many bytes, and lines, however many are asked for: it is
// held in memory several times over on its way out.
const (
	maxPart      = 1 << 20
	maxPartLines = 50_000
)

func (q *toolCall) readPart(ctx context.Context, p workspace.Path, first, last int) (*tool.Plan, error) {
	ask := workspace.PageRequest{
		Line: first, Lines: maxPartLines, Width: -1, Bytes: maxPart, Encoding: q.options.encoding,
		Version: true,
	}
	if last > 0 {
		ask.Lines = min(last-first+1, maxPartLines)
	}
	pg, err := q.root.Page(ctx, p, ask)
	if errors.Is(err, workspace.ErrRange) {
		f, _ := asFailure(err)
		f.message = outOfRange(f.cause)
		return nil, f
	}
	if errors.Is(err, workspace.ErrBinary) {
		err = notText(err)
	}
	if err != nil {
		return nil, encodingAdvice(err, nameEncoding)
	}
	q.canonical = pg.Info.Path.String()
	var text strings.Builder
	for _, l := range pg.Lines {
		text.WriteString(l.Text)
		text.WriteString(l.End)
	}
	d := readFileData{Version: id(pg.Version), Total: &pg.Total, Unstable: pg.Unstable}
	n := len(pg.Lines)
	if n > 0 {
		d.StartLine, d.EndLine = pg.Lines[0].Number, pg.Lines[n-1].Number
		cut := pg.Lines[n-1].More > 0
		if cut {
			return nil, fail(tool.FileTooLarge, fmt.Sprintf("line %d is too long; use Read with start_column", pg.Lines[n-1].Number))
		}
		if pg.Next > 0 && (last == 0 || pg.Next <= last) {
			d.Next = pg.Next
		}
	}
	return q.readDone(pg.Info, pg.Version, pg.Encoding, shownLines(pg.Lines, pg.Complete()), inMemory(text.String()), n, d), nil
}

// readDone is the plan of a read that succeeded.
func (q *toolCall) readDone(info workspace.Info, v workspace.Version, enc workspace.Encoding, lines freshness.Range, body readText, n int, d readFileData) *tool.Plan {
	d.Path = q.canonical
	if enc != (workspace.Encoding{}) {
		d.Encoding = encodingName(enc)
	}
	p := q.doneWith(func() (string, *tool.Content, error) {
		a := q.shown(showing{info: info, version: v, enc: enc, lines: lines, size: int(body.size)})
		switch a.kind {
		case repeat:
			body, n, d = inMemory(a.text), 0, readFileData{Path: d.Path, Version: d.Version, Unchanged: true}
		case changed:
			body, n, d.Diff = inMemory(a.text), 0, true
		}
		content, err := body.content(q.call)
		if err != nil {
			return "", nil, err
		}
		o := operation{Success: true, LinesRead: &n, Data: d}
		if content == nil {
			o.Content = &body.text
		}
		return encode(o), content, nil
	})
	p.Before = string(v)
	return p
}

func encodingName(e workspace.Encoding) string {
	if e.BOM() {
		return e.String() + " with a byte-order mark"
	}
	return e.String()
}

// readStream is a read whose content goes from the disk to the caller in bounded
// memory.
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
