package filetools

import (
	"context"
	_ "embed"
	"io/fs"
	"strings"

	"github.com/stet-dev/stet/tool"
	"github.com/stet-dev/stet/workspace"
)

//go:embed list_files.md
var listFilesDescription string

var listFilesKind = &kind{
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
func planListFiles(ctx context.Context, q *request) (*tool.Plan, error) {
	t, err := q.dir()
	if err != nil {
		return nil, err
	}
	o := workspace.ListOptions{Ignored: q.args.flag("ignored", false), Depth: q.args.num("depth", 1)}
	l := listing{limit: q.args.num("limit", 500)}
	err = q.root.Walk(ctx, t.Path, o, func(e workspace.Entry) error {
		name := e.Path.String()
		if q.cfg.Hidden(name) {
			return skip(e)
		}
		l.skipped.directory(e)
		return l.add(quoted(name) + mark(e.Kind))
	})
	if err != nil {
		return nil, err
	}
	return q.listed(&l, "entries"), nil
}

// dir inspects the directory that a call is about.
func (q *request) dir() (workspace.Target, error) {
	if !q.args.has("path") {
		q.path = "."
	}
	p, err := q.root.Path(q.path)
	if err != nil {
		return workspace.Target{}, err
	}
	t, err := q.root.Inspect(p)
	if err != nil {
		return workspace.Target{}, err
	}
	q.canonical = t.Path.String()
	return t, nil
}

func skip(e workspace.Entry) error {
	if e.Kind == workspace.Directory {
		return fs.SkipDir
	}
	return nil
}

func mark(k workspace.Kind) string {
	switch k {
	case workspace.Directory:
		return "/"
	case workspace.Link:
		return "@"
	case workspace.Special:
		return " (special)"
	}
	return ""
}

// listing gathers lines up to a limit.
type listing struct {
	limit     int
	lines     []string
	size      int
	truncated bool
	skipped   skipped
}

// maxListing is the size of a listing, in bytes.
const maxListing = 256 << 10

// add adds a line, or ends the walk.
func (l *listing) add(line string) error {
	if len(l.lines) == l.limit || l.size > maxListing {
		l.truncated = true
		return fs.SkipAll
	}
	l.lines = append(l.lines, line)
	l.size += len(line)
	return nil
}

// listed is the plan of a call that lists.
func (q *request) listed(l *listing, what string) *tool.Plan {
	text := strings.Join(l.lines, "\n")
	data := map[string]any{"path": q.canonical, what: len(l.lines)}
	if l.truncated {
		data["truncated"] = true
	}
	l.skipped.tell(data)
	return q.say(operation{Success: true, Content: &text, Data: data})
}
