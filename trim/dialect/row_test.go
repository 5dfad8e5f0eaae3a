package dialect

import (
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// A row of a configuration file is used.
func TestRowFromTOML(t *testing.T) {
	const config = `
[[dialect]]
name = "acme/peek"
tools = ["peek", "peek_at"]
op = "read"
path = ["file"]
offset = "from"
base = 0
limit = "count"
formats = ["numbered", "raw"]
errors = ["Peek failed"]

[[dialect]]
tools = ["Read"]
op = "read"
has = ["blob"]
is = { kind = "text" }
path = ["blob"]
`
	var c struct {
		Dialect []Row `toml:"dialect"`
	}
	if err := toml.Unmarshal([]byte(config), &c); err != nil {
		t.Fatal(err)
	}
	table, err := Default().With(c.Dialect)
	if err != nil {
		t.Fatal(err)
	}
	a := table.Action("acme__peek", `{"file":"a.go","from":9,"count":2}`)
	if a.Row != "acme/peek" || a.Op != Read || !slices.Equal(a.Targets, []Target{{"a.go", 10, 11}}) {
		t.Errorf("%+v", a)
	}
	res := table.Result(a, "10: x\n11: y\n", false)
	if len(res.Sections) != 1 || res.Sections[0].First != 10 || !slices.Equal(res.Sections[0].Lines, []string{"x", "y"}) {
		t.Errorf("%+v", res)
	}
	if !table.Result(a, "Peek failed: no file", false).Failed {
		t.Error("the row's own error is not seen")
	}
	if a := table.Action("Read", `{"blob":"b","kind":"text"}`); a.Row != "custom/Read" {
		t.Errorf("%+v", a)
	}
	for _, args := range []string{`{"file_path":"a"}`, `{"file_path":"a","blob":"b","kind":"image"}`} {
		if a := table.Action("Read", args); a.Row != "claude-code/Read" {
			t.Errorf("%s: %+v, the built-in row should count", args, a)
		}
	}
	if a := Default().Action("peek", `{"file":"a.go"}`); a.Op != Other {
		t.Errorf("the default table has changed: %+v", a)
	}
}

func TestBadRows(t *testing.T) {
	for _, tt := range []struct {
		row  Row
		want string
	}{
		{Row{Name: "x", Op: "read", Path: []string{"p"}}, "no tools"},
		{Row{Tools: []string{""}, Op: "read", Path: []string{"p"}}, "without a name"},
		{Row{Tools: []string{"t"}, Op: "look", Path: []string{"p"}}, `unknown op "look"`},
		{Row{Tools: []string{"t"}, Op: "read"}, "needs path"},
		{Row{Tools: []string{"t"}, Op: "edit"}, "needs path or patch"},
		{Row{Tools: []string{"t"}, Op: "shell"}, "needs command"},
		{Row{Tools: []string{"t"}, Op: "output", Opaque: true}, "only a shell is opaque"},
		{Row{Tools: []string{"t"}, Op: "read", Path: []string{"p"}, Base: 2}, "base is 2"},
		{Row{Tools: []string{"t"}, Op: "read", Path: []string{"p"}, Most: -1}, "negative"},
		{Row{Tools: []string{"t"}, Op: "read", Path: []string{"p"}, Formats: []string{"neat"}}, `unknown format "neat"`},
	} {
		_, err := New([]Row{tt.row})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: error %v, want %q", tt.row, err, tt.want)
		}
	}
}

// A call can reach every built-in row, and each row has a name of its own.
func TestRowsAreDistinct(t *testing.T) {
	seen := map[string]bool{}
	for tool, rows := range Default().byTool {
		for _, r := range rows {
			if r.Name == "" || strings.Count(r.Name, "/") != 1 {
				t.Errorf("%s: row name %q", tool, r.Name)
			}
			if Default().byName[r.Name] != r {
				t.Errorf("two rows are named %q", r.Name)
			}
			seen[r.Name] = true
		}
	}
	if names := Default().byName; len(names) != len(seen) {
		t.Errorf("%d names, %d rows", len(names), len(seen))
	}
}
