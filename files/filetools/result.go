package filetools

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/internal/invisible"
	"github.com/stet-dev/stet/tool"
)

// operation is a FileOperationResult with data. (FILE-2, FILE-18)
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

func fail(code tool.Code, message string) *failure { return &failure{code: code, message: message} }

// codes has the code of FILE-5 for each error of workspace.
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

// failOperation is the text of a failed FileOperationResult. (FILE-3)
func failOperation(q *toolCall, f *failure) string {
	data := f.data
	if q.path != "" {
		if data == nil {
			data = map[string]any{}
		}
		if _, ok := data["path"]; !ok {
			data["path"] = short(q.path)
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

// short keeps a very long argument from filling a result.
func short(s string) string {
	if len(s) <= 200 {
		return s
	}
	return strings.ToValidUTF8(s[:200], "") + "…"
}

// id is the beginning of a version, enough to tell two apart.
func id(v workspace.Version) string { return string(v[:min(16, len(v))]) }

// describe is a description file as the model gets it: on one line.
func describe(md string) string {
	return strings.Join(strings.Fields(md), " ")
}

// countLines counts the lines of a text as people and editors do: what
// follows the last line end is a line if there is something.
func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}
