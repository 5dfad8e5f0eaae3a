package filetools

import (
	"context"
	_ "embed"
	"strings"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/tool"
)

//go:embed write_file.md
var writeFileDescription string

var writeFileTool = &toolDef{
	name: "write_file", description: writeFileDescription, plan: planWriteFile,
	params: params{
		{name: "path", typ: "string", about: aboutPath, required: true},
		{name: "content", typ: "string", about: "Content to write to the file", required: true},
		{name: "encoding", typ: "string", about: aboutEncoding, def: `"utf-8"`},
		{name: "create_dirs", typ: "boolean", about: "Create parent directories if they don't exist", def: "false"},
		{name: "backup", typ: "boolean", about: "Create backup before overwriting existing file", def: "true"},
	},
}

// planWriteFile is write_file. (FILE-1, FILE-6, FILE-13 to 17)
func planWriteFile(ctx context.Context, q *toolCall) (*tool.Plan, error) {
	d := draft{
		text: q.args.str("content"), asked: q.args.str("content"),
		mode: workspace.WriteMode{CreateDirs: q.args.flag("create_dirs", false), Backup: q.args.flag("backup", true)},
	}
	t, err := q.target(q.path, d.mode.CreateDirs)
	if err != nil {
		return nil, err
	}
	if err := q.checkSize(len(d.text)); err != nil {
		return nil, err
	}
	now, err := q.readToWrite(ctx, &t, true)
	if err != nil {
		return nil, err
	}
	if err := q.baseOnSeen(&d, &t, now); err != nil {
		return nil, err
	}
	if now.unreadable == nil && allCRLF(now.text) && !strings.Contains(d.text, "\r\n") && strings.Contains(d.text, "\n") {
		d.text = strings.ReplaceAll(d.text, "\n", "\r\n")
		d.asked = d.text
		d.tell = append(d.tell, "line ends are CRLF, as they were in the file")
	}
	return q.plan(t, now, d)
}

// allCRLF reports whether a text has lines, and all of them end in CRLF.
func allCRLF(text string) bool {
	n := strings.Count(text, "\n")
	return n > 0 && strings.Count(text, "\r\n") == n
}
