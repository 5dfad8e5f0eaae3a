package filetools

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/tool"
)

// The tool Read with its envelope.

var readTool = &toolDef{
	name: "Read", readOnly: true, plan: planRead, fail: failEnvelope,
	params: params{
		{name: "path", typ: "string", about: "Path to the file (relative to project root). Required.", required: true},
		{name: "start_line", typ: "integer", about: "The line number to start reading from (1-based). Default is 1.", def: "1", min: 1, hasMin: true, quiet: true},
		{name: "limit", typ: "integer", about: "The maximum number of lines to read. Default is 500. Hard limit is 2000.", def: "500", min: 1, max: 2000, hasMin: true, quiet: true},
		{name: "start_column", typ: "integer", about: "To go on inside a line that was cut.", min: 1, hasMin: true, quiet: true},
		paramFull,
	},
}

// envelope is the standard envelope.
type envelope struct {
	Status  string         `json:"status"`
	Data    any            `json:"data"`
	Text    string         `json:"text"`
	Stats   any            `json:"stats"`
	Context readContext    `json:"context"`
	Error   *envelopeError `json:"error,omitempty"`
}

type envelopeError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type readData struct {
	Content   string `json:"content"`
	Truncated bool   `json:"truncated"`
	Fallback  string `json:"fallback_encoding,omitempty"`
}

// readStats is what the envelope says of the page and of its file.
type readStats struct {
	Time     int64  `json:"time_ms"`
	Lines    int    `json:"lines_read"`
	Chars    int    `json:"chars_read"`
	Total    int    `json:"total_lines"`
	Size     int64  `json:"file_size_bytes"`
	Mtime    int64  `json:"file_mtime_ms"`
	Encoding string `json:"encoding"`
}

// readContext is what the envelope says of the call.
type readContext struct {
	Cwd      string          `json:"cwd"`
	Params   json.RawMessage `json:"params_input"`
	Resolved string          `json:"path_resolved,omitempty"`
}

// planRead is the Read tool. It takes an absolute path or one with ".." too,
// if it leads to something inside the root.
func planRead(ctx context.Context, q *toolCall) (*tool.Plan, error) {
	p, err := q.root.Resolve(q.path)
	if err != nil {
		return nil, err
	}
	ask := workspace.PageRequest{
		Line: q.args.num("start_line", 1), Lines: q.args.num("limit", 500), Column: q.args.num("start_column", 1),
		Replace: true, Version: true,
	}
	pg, err := q.root.Page(ctx, p, ask)
	if err != nil {
		return nil, err
	}
	q.canonical = pg.Info.Path.String()
	done := q.done(func() string { return encode(q.page(&pg)) })
	done.Before = string(pg.Version)
	return done, nil
}

// page is the envelope around a page. Where lines are not shown again, data has
// none, and the text says why.
func (q *toolCall) page(pg *workspace.Page) envelope {
	lines, chars := numbered(pg.Lines)
	stats := readStats{
		Time: q.took(), Lines: len(pg.Lines), Chars: chars, Total: pg.Total, Size: pg.Info.Size,
		Mtime: pg.Info.ModTime.UnixMilli(), Encoding: pg.Encoding.String(),
	}
	data := readData{Content: lines, Truncated: !pg.Complete()}
	e := envelope{Status: "success", Text: q.readText(pg), Context: q.context()}
	if pg.Fallback {
		data.Fallback = "replace"
	}
	if pg.Fallback || data.Truncated {
		e.Status = "partial"
	}
	a := q.shown(showing{
		info: pg.Info, version: pg.Version, enc: pg.Encoding, garbled: pg.Fallback,
		lines: shownLines(pg.Lines, pg.Complete()), size: len(lines),
	})
	if a.kind != full {
		data.Content, e.Text = "", a.text
		stats.Lines, stats.Chars = 0, 0
	}
	e.Data, e.Stats = data, stats
	return e
}

func (q *toolCall) took() int64 { return int64(q.cfg.Now().Sub(q.began) / time.Millisecond) }

func (q *toolCall) context() readContext {
	in := q.call.Arguments
	switch {
	case len(bytes.TrimSpace(in)) == 0:
		in = json.RawMessage("{}")
	case !json.Valid(in) || !utf8.Valid(in):
		in = json.RawMessage(encode(strings.ToValidUTF8(string(in), "\ufffd")))
	}
	return readContext{Cwd: ".", Params: in, Resolved: q.canonical}
}

// numbered is the content with line numbers, and how many characters of the
// file are in it, line ends included.
func numbered(lines []workspace.Line) (string, int) {
	size, chars := 0, 0
	for _, l := range lines {
		size += len(l.Text) + 12
	}
	b := make([]byte, 0, size)
	for _, l := range lines {
		n := strconv.Itoa(l.Number)
		b = append(b, "    "[min(4, len(n)):]...)
		b = append(b, n...)
		b = append(b, " | "...)
		b = append(b, l.Text...)
		b = append(b, '\n')
		chars += utf8.RuneCountInString(l.Text) + len(l.End)
	}
	return string(b), chars
}

// shownLines are the lines of a page that are shown whole.
func shownLines(lines []workspace.Line, toEnd bool) freshness.Range {
	if len(lines) == 0 {
		return freshness.Range{}
	}
	r := freshness.Range{First: lines[0].Number, Last: lines[0].Number - 1}
	if lines[0].Column > 1 {
		return freshness.Range{First: 1, Last: -1}
	}
	for _, l := range lines {
		if l.More > 0 {
			break
		}
		r.Last = l.Number
	}
	if r.Last < r.First {
		return freshness.Range{First: 1, Last: -1}
	}
	if toEnd {
		r.Last = 0
	}
	return r
}

// readText says in words what was read, and how to go on.
func (q *toolCall) readText(pg *workspace.Page) string {
	name := quoted(q.path)
	if len(pg.Lines) == 0 {
		return fmt.Sprintf("Read 0 lines from '%s' (file is empty).", name)
	}
	first, last := pg.Lines[0].Number, pg.Lines[len(pg.Lines)-1].Number
	var s strings.Builder
	fmt.Fprintf(&s, "Read %d lines from '%s' (Lines %d-%d).\n(Took %dms)", len(pg.Lines), name, first, last, q.took())
	if !pg.Complete() {
		s.WriteString("\n" + truncated(pg))
	}
	if pg.Fallback {
		fmt.Fprintf(&s, "\n[Bytes that are not valid %s are shown as \ufffd. read_file shows them as characters if it is given the file's encoding.]", pg.Encoding)
	}
	if slices.ContainsFunc(pg.Lines, func(l workspace.Line) bool { return strings.Contains(l.Text, "\r") }) {
		s.WriteString("\n[There are carriage returns (CR) that end no line here.]")
	}
	if pg.Unstable {
		s.WriteString("\n[The file is being written to: these lines may not be of one moment.]")
	}
	return s.String()
}

// truncated says that a page is not all, and how to go on.
func truncated(pg *workspace.Page) string {
	total := strconv.Itoa(pg.Total)
	if pg.Total < 0 {
		total = "at least " + strconv.Itoa(pg.AtLeast)
	}
	var cut []workspace.Line
	for _, l := range pg.Lines {
		if l.More > 0 {
			cut = append(cut, l)
		}
	}
	next := fmt.Sprintf("start_line=%d", pg.Next)
	if pg.Next == 0 && len(cut) > 0 {
		l := cut[len(cut)-1]
		next = fmt.Sprintf("start_line=%d and start_column=%d", l.Number, l.More)
		cut = cut[:len(cut)-1]
	}
	what, first := fmt.Sprintf("first %d", len(pg.Lines)), pg.Lines[0]
	switch last := pg.Lines[len(pg.Lines)-1]; {
	case len(pg.Lines) == 1 && (first.More > 0 || first.Column > 1):
		what = fmt.Sprintf("a part of line %d", first.Number)
	case first.Number > 1:
		what = fmt.Sprintf("lines %d-%d", first.Number, last.Number)
	}
	s := fmt.Sprintf("[Truncated: Showing %s of %s lines. Use %s to continue.]", what, total, next)
	for i, l := range cut {
		if i == 3 {
			s += fmt.Sprintf("\n[%d more lines are cut.]", len(cut)-i)
			break
		}
		s += fmt.Sprintf("\n[Line %d is cut. Use start_line=%d and start_column=%d to see the rest of it.]", l.Number, l.Number, l.More)
	}
	return s
}

// failEnvelope is a failed Read: it alone speaks upper case.
func failEnvelope(q *toolCall, f *failure) string {
	code, message := readFailure(quoted(limits.Shorten(q.path, 200)), f)
	if f.verbatim {
		message = f.message
	}
	return encode(envelope{
		Status: "error", Data: struct{}{}, Text: message,
		Stats: struct {
			Time int64 `json:"time_ms"`
		}{q.took()},
		Context: q.context(),
		Error:   &envelopeError{code, message},
	})
}

// readFailure returns the code and the words of a failed Read.
func readFailure(name string, f *failure) (code, message string) {
	code, message = strings.ToUpper(string(f.code)), f.message
	switch f.code {
	case tool.FileNotFound:
		return "NOT_FOUND", fmt.Sprintf("File '%s' does not exist.", name)
	case tool.IsDirectory:
		return code, fmt.Sprintf("Path '%s' is a directory. Use LS to explore it.", name)
	case tool.BinaryFile:
		return code, fmt.Sprintf("File '%s' appears to be binary.", name)
	case tool.InvalidPath:
		if q := f.cause; q != nil && q.Path == "" {
			return "INVALID_PARAM", "Invalid path: it is empty."
		}
		if f.cause == nil || f.cause.Detail == "" || strings.Contains(f.cause.Detail, "outside") {
			return "ACCESS_DENIED", "Access denied. Path must be within project root."
		}
		return "ACCESS_DENIED", fmt.Sprintf("Access denied. Path '%s' is not valid: %s.", name, f.cause.Detail)
	case tool.PermissionDenied:
		if f.cause != nil && f.cause.Err == workspace.ErrSpecial {
			return "ACCESS_DENIED", fmt.Sprintf("Path '%s' is not a regular file.", name)
		}
		return "ACCESS_DENIED", fmt.Sprintf("Permission denied: '%s'.", name)
	case tool.InvalidArgument:
		if f.cause != nil {
			message = outOfRange(f.cause)
		}
		return "INVALID_PARAM", message
	}
	return code, message
}

// outOfRange says which lines there are.
func outOfRange(e *workspace.Error) string {
	switch {
	case strings.Contains(e.Detail, "column"):
		return "Invalid start_column: " + e.Detail + "."
	case e.Lines == 0:
		return "Invalid start_line: the file is empty (0 lines); only start_line=1 is valid."
	case e.ByCR:
		return "Invalid start_line: the file has 1 line, because carriage returns (CR) end no line here; only start_line=1 is valid."
	case e.Lines == 1:
		return "Invalid start_line: the file has 1 line; only start_line=1 is valid."
	}
	return fmt.Sprintf("Invalid start_line: the file has %d lines; valid range is 1-%d.", e.Lines, e.Lines)
}
