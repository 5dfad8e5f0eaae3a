package dialect

import (
	"strings"
	"sync"
)

// Table is the rows by which calls and results are read. It is immutable and
// may be used concurrently.
type Table struct {
	byTool map[string][]*row
	byName map[string]*row
}

// Default returns the table of the agents that stet knows.
func Default() *Table { return defaultTable() }

var defaultTable = sync.OnceValue(func() *Table {
	var rows []Row
	for _, family := range [][]Row{
		ownRows, claudeRows, opencodeRows, codexRows, geminiRows, clineRows, continueRows, editorRows, mcpRows, vscodeRows, piRows, outputRows,
	} {
		rows = append(rows, family...)
	}
	t, err := New(rows)
	if err != nil {
		panic(err) // the rows are constants; a test makes the table
	}
	return t
})

// New returns a table of these rows alone.
func New(rows []Row) (*Table, error) { return (&Table{}).With(rows) }

// With returns a table of these rows and t's. Where both fit a call, these
// count. A row that makes no sense is an error that names it.
func (t *Table) With(rows []Row) (*Table, error) {
	out := &Table{byTool: make(map[string][]*row), byName: make(map[string]*row)}
	for _, r := range rows {
		x, err := ready(r)
		if err != nil {
			return nil, err
		}
		for _, tool := range x.Tools {
			out.byTool[tool] = append(out.byTool[tool], x)
		}
		if out.byName[x.Name] == nil {
			out.byName[x.Name] = x
		}
	}
	for tool, old := range t.byTool {
		out.byTool[tool] = append(out.byTool[tool], old...)
	}
	for name, old := range t.byName {
		if out.byName[name] == nil {
			out.byName[name] = old
		}
	}
	return out, nil
}

// Tools returns the names of all tools, each with what its calls may do. A search counts as Read, and one for names as List.
func (t *Table) Tools() map[string][]Op {
	all := make(map[string][]Op, len(t.byTool))
	for tool, rows := range t.byTool {
		for _, r := range rows {
			op := r.op
			switch r.Name {
			case "any/search":
				op = Read
			case "any/names":
				op = List
			}
			all[tool] = append(all[tool], op)
		}
	}
	return all
}

// find returns the row for a call of the tool name with arguments a. Without
// readable arguments it is a row only if all rows of the tool agree on the op.
// A name may carry the prefix of an MCP server: then the row must know every
// argument, and the call must tell that it is about files.
func (t *Table) find(name string, a args, readable bool) *row {
	if rows := t.byTool[name]; len(rows) > 0 {
		return pick(rows, a, readable, false)
	}
	rest := name
	for readable && len(name) < 256 {
		i := strings.IndexAny(rest, "_-.:/")
		if i < 0 || i+1 >= len(rest) {
			return nil
		}
		rest = rest[i+1:]
		if rows := t.byTool[rest]; len(rows) > 0 {
			r := pick(rows, a, true, true)
			if r != nil && (!bare[strings.ToLower(rest)] || a.given() > 1 || aboutFiles(name[:len(name)-len(rest)])) {
				return r
			}
		}
	}
	return nil
}

// bare are names of tools that say nothing of files: behind the prefix of a
// server they may read a store of values or a page of the web.
var bare = map[string]bool{
	"read": true, "view": true, "open": true, "list": true, "ls": true, "goto": true, "scroll_up": true, "scroll_down": true,
	"fetch_lines": true, "create": true, "write": true, "edit": true, "editor": true, "replace": true,
}

// aboutFiles reports whether the prefix of a server says that it is about
// files: "mcp__filesystem__", "files_", "fs.".
func aboutFiles(prefix string) bool {
	for _, word := range strings.FieldsFunc(strings.ToLower(prefix), func(r rune) bool { return strings.ContainsRune("_-.:/", r) }) {
		if word == "fs" || strings.HasPrefix(word, "file") {
			return true
		}
	}
	return false
}

func pick(rows []*row, a args, readable, strict bool) *row {
	if readable {
		for _, r := range rows {
			if r.fits(a, strict) {
				return r
			}
		}
		return nil
	}
	for _, r := range rows {
		if r.op != rows[0].op {
			return nil
		}
	}
	return rows[0]
}
