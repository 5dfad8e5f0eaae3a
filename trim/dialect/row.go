package dialect

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Row says how one tool of an agent is called and what it answers. It is plain
// data: a configuration can hold rows (a table of TOML each). Arguments are
// named as they stand in the call's JSON object.
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
	Most   int    `toml:"most"` // lines that a read without a limit shows at most; 0 = all

	Command []string `toml:"command"` // shell: a command line, or an array of words
	Opaque  bool     `toml:"opaque"`  // shell: the command is in no language of a POSIX shell, and may do anything
	Once    bool     `toml:"once"`    // the same call shows something else the next time
	Content []string `toml:"content"` // write: the content; output: what the result may repeat; agent: what it is told
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
