package filetools

import (
	"context"
	_ "embed"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/tool"
)

//go:embed find_files.md
var findFilesDescription string

var findFilesTool = &toolDef{
	name: "find_files", description: findFilesDescription, readOnly: true, plan: planFindFiles,
	params: params{
		{name: "pattern", typ: "string", required: true},
		{name: "path", typ: "string", about: "directory", def: `"."`},
		{name: "ignored", typ: "boolean"},
		{name: "limit", typ: "integer", def: "200", min: 1, max: 5000, hasMin: true, quiet: true},
	},
}

// planFindFiles is find_files. (FILE-18)
func planFindFiles(ctx context.Context, q *toolCall) (*tool.Plan, error) {
	matches, err := q.glob("pattern")
	if err != nil {
		return nil, err
	}
	t, err := q.dir()
	if err != nil {
		return nil, err
	}
	l := listing{limit: q.args.num("limit", 200)}
	err = q.walk(ctx, t.Path, 0, &l.skipped, func(e workspace.Entry) error {
		name := e.Path.String()
		if e.Kind == workspace.Directory || !matches(name, t.Path) {
			return nil
		}
		return l.add(quoted(name) + mark(e.Kind))
	})
	if err != nil {
		return nil, err
	}
	return q.listed(&l, "files"), nil
}

// below is a path relative to a directory above it.
func below(name string, dir workspace.Path) string {
	if d := dir.String(); d != "." && len(name) > len(d)+1 {
		return name[len(d)+1:]
	}
	return name
}
