package filetools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/tool"
)

// PlainCaller is a Caller of the file tools whose results are plain text instead
// of JSON: see Plain. (TRK-12)
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
	}
	Context struct {
		Params struct{ Path string } `json:"params_input"`
	}
}

// Plain returns a result of a file tool as plain text: the content that was
// read, "File written: PATH", "Error: File not found: PATH", or "Error: " and
// what is wrong. Lines after the first one say what else the model has to know of a
// write. Results that are none of these stay JSON, as those of file_info and undo
// do. (TRK-12)
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
		return "Error: File not found: " + quoted(short(path)) + o.advice()
	case r.Failed():
		return "Error: " + o.failure()
	case o.Status == "partial":
		return o.Data.Content + o.Text
	case o.Status != "" && o.Data.Content == "":
		return o.Text
	case o.Status != "":
		return o.Data.Content
	case o.Content != nil && o.Data.Next > 0:
		return fmt.Sprintf("%s\n[Truncated. Use start_line=%d to continue.]", *o.Content, o.Data.Next)
	case o.Content != nil && o.Data.Truncated:
		return *o.Content + "\n[Truncated.]"
	case o.Content != nil:
		return *o.Content
	case o.Written != nil && path != "":
		lines := append([]string{"File written: " + quoted(path)}, o.Data.Notes...)
		if o.Data.Asked != "" {
			lines = append(lines, o.Data.Asked)
		}
		return strings.Join(lines, "\n")
	}
	return r.Text
}

// advice is what a failed write says beside that the file is not there: what is missing,
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
