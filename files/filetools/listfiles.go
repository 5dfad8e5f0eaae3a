package filetools

import (
	"context"
	_ "embed"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/tool"
)

//go:embed list_files.md
var listFilesDescription string

var listFilesTool = &toolDef{
	name: "list_files", description: listFilesDescription, readOnly: true, plan: planListFiles,
	params: params{
		{name: "path", typ: "string", def: `"."`},
		{name: "depth", typ: "integer", def: "1", min: 1, max: 100, hasMin: true, quiet: true},
		{name: "ignored", typ: "boolean", about: "also ignored files"},
		{name: "limit", typ: "integer", def: "500", min: 1, max: 5000, hasMin: true, quiet: true},
	},
}

// planListFiles is list_files, which also answers to LS. Directories end in a
// slash, links in an at sign. (FILE-18)
func planListFiles(ctx context.Context, q *toolCall) (*tool.Plan, error) {
	t, err := q.dir()
	if err != nil {
		return nil, err
	}
	l := listing{limit: q.args.num("limit", 500)}
	err = q.walk(ctx, t.Path, q.args.num("depth", 1), &l.skipped, func(e workspace.Entry) error {
		return l.add(quoted(e.Path.String()) + mark(e.Kind))
	})
	if err != nil {
		return nil, err
	}
	return q.listed(&l, "entries"), nil
}
