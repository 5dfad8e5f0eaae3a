package filetools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/internal/invisible"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/tool"
)

// Results: a FileOperationResult, a failure that a model can act on, and both as plain text.

// operation is a FileOperationResult with data.
type operation struct {
	Success      bool    `json:"success"`
	Content      *string `json:"content,omitempty"`
	LinesRead    *int    `json:"lines_read,omitempty"`
	BytesWritten *int64  `json:"bytes_written,omitempty"`
	BackupPath   string  `json:"backup_path,omitempty"`
	Error        string  `json:"error,omitempty"`
	Data         any     `json:"data,omitempty"`
}

// failure is an error that a model can act on.
type failure struct {
	code    tool.Code
	message string
	arg     string // the argument that is wrong
	cause   *workspace.Error
	data    map[string]any

	verbatim bool // message was worded by the caller, and stays as it is
}

func (f *failure) Error() string { return string(f.code) + ": " + f.message }

// seemsText reports whether f is about a binary file that seems to be text in a known encoding: its message names it.
func (f *failure) seemsText() bool {
	return f.code == tool.BinaryFile && f.cause != nil && f.cause.Detail != ""
}

func fail(code tool.Code, message string) *failure { return &failure{code: code, message: message} }

// codes has the code for each error of workspace.
var codes = []struct {
	err  error
	code tool.Code
}{
	{workspace.ErrNotFound, tool.FileNotFound},
	{workspace.ErrPermission, tool.PermissionDenied},
	{workspace.ErrProtected, tool.PermissionDenied},
	{workspace.ErrSpecial, tool.PermissionDenied},
	{workspace.ErrPath, tool.InvalidPath},
	{workspace.ErrEncoding, tool.EncodingError},
	{workspace.ErrTooLarge, tool.FileTooLarge},
	{workspace.ErrChanged, tool.ConcurrentModification},
	{workspace.ErrIsDirectory, tool.IsDirectory},
	{workspace.ErrBinary, tool.BinaryFile},
	{workspace.ErrRange, tool.InvalidArgument},
	{workspace.ErrFull, tool.DiskFull},
	{workspace.ErrRootGone, tool.HostUnavailable},
	{context.Canceled, tool.Cancelled},
	{context.DeadlineExceeded, tool.Timeout},
}

// asFailure makes an error a failure, if a model can act on it.
func asFailure(err error) (*failure, bool) {
	var f *failure
	if errors.As(err, &f) {
		return f, true
	}
	for _, c := range codes {
		if !errors.Is(err, c.err) {
			continue
		}
		f := &failure{code: c.code, message: c.err.Error()}
		if errors.As(err, &f.cause) {
			f.message = f.cause.Error()
		}
		return f, true
	}
	return nil, false
}

// failOperation is the text of a failed FileOperationResult.
func failOperation(q *toolCall, f *failure) string {
	data := f.data
	if q.path != "" {
		if data == nil {
			data = map[string]any{}
		}
		if _, ok := data["path"]; !ok {
			data["path"] = limits.Shorten(q.path, 200)
		}
	}
	o := operation{Error: string(f.code) + ": " + f.message}
	if data != nil {
		o.Data = data
	}
	return encode(o)
}

// encode returns v as JSON, with <, > and & as they are.
func encode(v any) string {
	var b strings.Builder // written to once
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return `{"success":false,"error":"result cannot be encoded"}`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// quoted returns a name for a sentence, with escapes for what does not print.
func quoted(s string) string {
	if !strings.ContainsAny(s, "\t\uFFFD") && invisible.Escape(s, nil) == s {
		return s
	}
	q := invisible.Quote(s)
	return q[1 : len(q)-1]
}

// id is the beginning of a version, enough to tell two apart.
func id(v workspace.Version) string { return string(v[:min(16, len(v))]) }

// countLines counts the lines of a text as people and editors do: what
// follows the last line end is a line if there is something.
func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// PlainCaller is a Caller of the file tools whose results are plain text instead
// of JSON: see Plain.
type PlainCaller struct{ tool.Starter }

// Call implements tool.Caller.
func (c PlainCaller) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	return c.Start(call)(ctx)
}

// Start implements tool.Starter.
func (c PlainCaller) Start(call tool.Call) func(context.Context) (tool.Result, error) {
	run := c.Starter.Start(call)
	return func(ctx context.Context) (tool.Result, error) {
		r, err := run(ctx)
		if err == nil {
			r.Text = Plain(r)
		}
		return r, err
	}
}

// result is what Plain reads, of a FileOperationResult or of Read's envelope.
type result struct {
	Success bool
	Status  string
	Content *string
	Text    string
	Error   json.RawMessage // a string, of Read an object
	Written *int64          `json:"bytes_written"`
	Data    struct {
		Path      string
		Content   string
		Next      int `json:"next_line"`
		Truncated bool
		Notes     []string
		Asked     string `json:"asked_to_written"`
		Version   string
		Skipped   int
		Named     []string `json:"skipped_files"`
		Conflict  string
	}
	Context struct {
		Params struct{ Path string } `json:"params_input"`
	}
}

// Plain returns a result of a file tool as plain text: the content that was
// read, "File written: PATH", "Error: File not found: PATH", or "Error: " and
// what is wrong. Lines after it say what else the model has to know: notes, what was
// skipped, what is in conflict. Results that are none of these stay JSON, as those of
// file_info and undo do.
func Plain(r tool.Result) string {
	var o result
	if err := json.Unmarshal([]byte(r.Text), &o); err != nil || !o.Success && o.Status == "" && !r.Failed() {
		return r.Text
	}
	path := o.Data.Path
	if path == "" {
		path = o.Context.Params.Path
	}
	switch {
	case r.Code == tool.FileNotFound && path != "":
		return "Error: File not found: " + quoted(limits.Shorten(path, 200)) + o.advice()
	case r.Failed():
		return strings.TrimSuffix("Error: "+o.failure()+"\n"+o.Data.Conflict, "\n")
	case o.Status == "partial" || o.Status != "" && o.Data.Content == "":
		return o.Data.Content + o.Text
	case o.Status != "":
		return o.Data.Content
	case o.Content != nil && o.Data.Next > 0:
		return fmt.Sprintf("%s\n[Truncated. Use start_line=%d to continue.]", *o.Content, o.Data.Next)
	case o.Content != nil:
		return o.content()
	case o.Written != nil && path != "":
		lines := append([]string{"File written: " + quoted(path)}, o.Data.Notes...)
		if o.Data.Asked != "" {
			lines = append(lines, o.Data.Asked)
		}
		return strings.Join(lines, "\n")
	}
	return r.Text
}

// content is the content, with lines about what it does not show. An empty one is the
// content of an empty file, which has a version, or says that nothing was found.
func (o *result) content() string {
	text, lines := *o.Content, o.Data.Notes
	if o.Data.Truncated {
		text += "\n[Truncated.]"
	}
	for _, name := range o.Data.Named {
		lines = append(lines, "Skipped: "+name)
	}
	if n := o.Data.Skipped - len(o.Data.Named); n > 0 {
		lines = append(lines, fmt.Sprintf("Skipped: %d that are not named here, as files that are no text", n))
	}
	if text == "" && o.Data.Version == "" {
		lines = append([]string{"Nothing found."}, lines...)
	}
	for _, line := range lines {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		text += "[" + line + "]"
	}
	return text
}

// advice is what a failed write says besides that the file is not there: what is missing,
// and what to do. A failed read has none.
func (o *result) advice() string {
	words, coded := strings.CutPrefix(o.failure(), string(tool.FileNotFound)+": ")
	if !coded || strings.HasSuffix(words, workspace.ErrNotFound.Error()) {
		return ""
	}
	return "\n" + words
}

// failure is why the call failed, in words.
func (o *result) failure() string {
	var words string
	if json.Unmarshal(o.Error, &words) == nil {
		return words
	}
	return o.Text
}
