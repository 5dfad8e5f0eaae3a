package dialect

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// The table: rows as a configuration can hold them, made ready, and found by the name and the arguments of a call.

// Row says how one tool of an agent is called and what it answers. It is plain
// data: a configuration can hold rows (a table of TOML each). Arguments are
// named as they are in the call's JSON object.
type Row struct {
	Name  string   `toml:"name"`  // "agent/tool"; empty: "custom/" and the first tool
	Tools []string `toml:"tools"` // the tool's names
	Op    string   `toml:"op"`    // read, list, edit, write, shell, output, agent, other

	// Tools of different agents have the same name. A row is for the calls
	// that have all of the arguments in Has, none of Lacks, and the values in
	// Is. The first row that fits is taken.
	Has   []string          `toml:"has"`
	Lacks []string          `toml:"lacks"`
	Is    map[string]string `toml:"is"`

	// Path names the arguments that may hold the path, the first one there
	// counts: a string, an array of strings, or an array of objects with a
	// path (and lines) of their own.
	Path []string `toml:"path"`
	Dir  []string `toml:"dir"` // working directory that relative paths start from

	// The lines asked for: Start and End are 1-based and inclusive. Offset is
	// the first line counted from Base (0 or 1), Limit a number of lines.
	// Range holds an array of both, [start, end]. Tail holds a number of lines
	// at the end of the file.
	Start  string `toml:"start"`
	End    string `toml:"end"`
	Offset string `toml:"offset"`
	Base   int    `toml:"base"`
	Limit  string `toml:"limit"`
	Range  string `toml:"range"`
	Tail   string `toml:"tail"`
	// EditsByText says that the agent's edits name text and no line numbers: line numbers that can be counted may be left out.
	EditsByText bool `toml:"edits-by-text"`
	Most        int  `toml:"most"` // lines that a read without a limit shows at most; 0 = all

	Command []string `toml:"command"` // shell: a command line, or an array of words
	Opaque  bool     `toml:"opaque"`  // shell: the command is in no language of a POSIX shell, and may do anything
	Once    bool     `toml:"once"`    // the same call shows something else the next time
	Content []string `toml:"content"` // write: the content; output: what the result may repeat; agent: what is said to it
	Old     []string `toml:"old"`     // edit: the text to be replaced
	New     []string `toml:"new"`     // edit: the text in its place
	All     string   `toml:"all"`     // edit: true replaces every occurrence
	Edits   []string `toml:"edits"`   // edit: an array of objects with Old, New and All
	Patch   []string `toml:"patch"`   // edit: a patch, or search and replace blocks
	Also    []string `toml:"also"`    // other arguments that the tool takes

	Formats []string `toml:"formats"` // of the result, by name, tried in turn: the names of the table formats
	Errors  []string `toml:"errors"`  // how the text of a failed result begins
}

// row is a Row made ready.
type row struct {
	Row
	op      Op
	formats []format
	known   map[string]bool // every argument named
}

var ops = map[string]Op{
	"read": Read, "list": List, "edit": Edit, "write": Write, "shell": Shell, "output": Output, "agent": Agent, "other": Other,
}

// ready checks a Row.
func ready(r Row) (*row, error) {
	if len(r.Tools) == 0 {
		return nil, fmt.Errorf("dialect row %q: no tools", r.Name)
	}
	for _, name := range r.Tools {
		if strings.TrimSpace(name) == "" {
			return nil, fmt.Errorf("dialect row %q: a tool without a name", r.Name)
		}
	}
	if r.Name == "" {
		r.Name = "custom/" + r.Tools[0]
	}
	op, ok := ops[r.Op]
	if !ok {
		return nil, fmt.Errorf("dialect row %q: unknown op %q: choose one of read, list, edit, write, shell, output, agent, other", r.Name, r.Op)
	}
	out := &row{Row: r, op: op, known: make(map[string]bool)}
	if r.Base != 0 && r.Base != 1 {
		return nil, fmt.Errorf("dialect row %q: base is %d: lines are counted from 0 or from 1", r.Name, r.Base)
	}
	if r.Most < 0 {
		return nil, fmt.Errorf("dialect row %q: most is negative", r.Name)
	}
	switch {
	case r.Opaque && op != Shell:
		return nil, fmt.Errorf("dialect row %q: only a shell is opaque", r.Name)
	case op == Shell && len(r.Command) == 0:
		return nil, fmt.Errorf("dialect row %q: a shell needs command", r.Name)
	case (op == Read || op == Write) && len(r.Path) == 0:
		return nil, fmt.Errorf("dialect row %q: a %s needs path", r.Name, r.Op)
	case op == Edit && len(r.Path) == 0 && len(r.Patch) == 0:
		return nil, fmt.Errorf("dialect row %q: an edit needs path or patch", r.Name)
	}
	if len(r.Formats) == 0 {
		out.formats = defaultFormats(op)
	}
	for _, name := range r.Formats {
		f, ok := formats[name]
		if !ok {
			return nil, fmt.Errorf("dialect row %q: unknown format %q: choose from %s", r.Name, name, strings.Join(slices.Sorted(maps.Keys(formats)), ", "))
		}
		out.formats = append(out.formats, f)
	}
	out.know()
	return out, nil
}

// know collects the arguments that the row names.
func (r *row) know() {
	for _, names := range [][]string{r.Has, r.Path, r.Dir, r.Command, r.Content, r.Old, r.New, r.Edits, r.Patch, r.Also,
		{r.Start, r.End, r.Offset, r.Limit, r.Range, r.Tail, r.All}} {
		for _, n := range names {
			r.known[n] = true
		}
	}
	for n := range r.Is {
		r.known[n] = true
	}
}

// fits reports whether the row is for a call with these arguments. strict also
// asks that the row knows every argument.
func (r *row) fits(a args, strict bool) bool {
	for _, n := range r.Has {
		if _, ok := a.get(n); !ok {
			return false
		}
	}
	for _, n := range r.Lacks {
		if _, ok := a.get(n); ok {
			return false
		}
	}
	for n, want := range r.Is {
		if v, ok := a.get(n); !ok || scalar(v) != want {
			return false
		}
	}
	if strict {
		for i := range a {
			if !r.known[a[i].key] {
				return false
			}
		}
	}
	return true
}

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
// argument, and the call must show that it is about files.
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

// bare are names of tools that say nothing of files: after the prefix of a
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
