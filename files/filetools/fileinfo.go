package filetools

import (
	"context"
	_ "embed"
	"strings"
	"time"

	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/tool"
)

//go:embed file_info.md
var fileInfoDescription string

var fileInfoTool = &toolDef{
	name: "file_info", description: fileInfoDescription, readOnly: true, plan: planFileInfo,
	params: params{{name: "path", typ: "string", required: true}},
}

// fileInfo is the data of file_info.
type fileInfo struct {
	Path     string `json:"path"`
	Type     string `json:"type"`
	Size     int64  `json:"size"`
	Mode     string `json:"mode"`
	Modified string `json:"modified"`
	Class    string `json:"class,omitempty"` // where it is not ordinary
	ReadOnly bool   `json:"read_only,omitempty"`
	Links    uint64 `json:"links,omitempty"`  // where there are several
	Secret   bool   `json:"secret,omitempty"` // what is in it, its hash among that, is not told: read it

	Version  string           `json:"version,omitempty"`
	Lines    *int             `json:"lines,omitempty"`
	Encoding string           `json:"encoding,omitempty"`
	Ends     string           `json:"line_ends,omitempty"`
	Binary   bool             `json:"binary,omitempty"`
	Status   freshness.Status `json:"status,omitempty"` // to what this session saw
	Reads    int              `json:"reads,omitempty"`
}

// planFileInfo is file_info. (FILE-18, CTX-8)
func planFileInfo(ctx context.Context, q *toolCall) (*tool.Plan, error) {
	p, err := q.root.Path(q.path)
	if err != nil {
		return nil, err
	}
	info, err := q.root.Inspect(p)
	if err != nil {
		return nil, err
	}
	q.canonical = info.Path.String()
	d := fileInfo{
		Path: q.canonical, Type: info.Kind.String(), Size: info.Size, Mode: info.Mode.String(),
		Modified: info.ModTime.UTC().Format(time.RFC3339),
	}
	if info.Class != workspace.Ordinary {
		d.Class = info.Class.String()
	}
	if info.Kind == workspace.File {
		d.ReadOnly = !info.Writable
		if info.Links > 1 {
			d.Links = info.Links
		}
		if err := q.describeText(ctx, info.Info, &d); err != nil {
			return nil, err
		}
	}
	return q.doneNow(operation{Success: true, Data: d}), nil
}

// describeText looks into a file, if that may be shown. What is too large for that is not looked into.
func (q *toolCall) describeText(ctx context.Context, info workspace.Info, d *fileInfo) error {
	status, err := q.ses.tracker.Check(ctx, q.canonical, freshness.In(q.root))
	if err != nil {
		return err
	}
	f, _ := q.ses.tracker.File(q.canonical, info.Stamp)
	d.Status, d.Reads = status, f.Reads
	if q.Withheld(q.canonical) {
		d.Secret = true
		return nil
	}
	c, err := q.root.ReadAll(ctx, info.Path)
	if err != nil {
		if _, known := asFailure(err); known && ctx.Err() == nil {
			return nil
		}
		return err
	}
	d.Version = id(c.Version)
	text, enc, err := decode(c.Data, workspace.Encoding{})
	if err != nil {
		code, _ := asFailure(err)
		d.Binary = code.code == tool.BinaryFile
		return nil
	}
	n := countLines(text)
	d.Lines, d.Encoding = &n, encodingName(enc)
	switch crlf, lf := strings.Count(text, "\r\n"), strings.Count(text, "\n"); {
	case lf == 0:
	case crlf == 0:
		d.Ends = "lf"
	case crlf == lf:
		d.Ends = "crlf"
	default:
		d.Ends = "mixed"
	}
	return nil
}
