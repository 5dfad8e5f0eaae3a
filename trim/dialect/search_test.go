package dialect

import "testing"

// TRIM-4: results that are not files are distinguished from files, and from unknown results.
func TestOutputs(t *testing.T) {
	for _, tt := range []struct {
		name, args, row, content string
	}{
		{"Grep", `{"pattern":"x","output_mode":"content"}`, "any/search", ""},
		{"grep", `{"pattern":"x"`, "any/search", ""}, // the arguments are cut off, and the tool's name is enough
		{"search_file_content", `{"pattern":"x"}`, "any/search", ""},
		{"WebFetch", `{"url":"https://example.com","prompt":"p"}`, "any/fetch", ""},
		{"ExitPlanMode", `{"plan":"# Plan\n- one","planFilePath":"/p/plan.md"}`, "claude-code/ExitPlanMode", "# Plan\n- one"},
	} {
		a := Default().Action(tt.name, tt.args)
		if a.Op != Output || a.Row != tt.row || a.Command != tt.args || a.Content != tt.content || len(a.Targets) > 0 {
			t.Errorf("%s: %+v", tt.name, a)
		}
		if r := Default().Result(a, "found it\nand more", false); r.Failed || len(r.Sections) > 0 {
			t.Errorf("%s: %+v", tt.name, r)
		}
		if r := Default().Result(a, "not allowed", true); !r.Failed {
			t.Errorf("%s: an error is no output", tt.name)
		}
	}
	for _, name := range []string{"mcp__notes__search_files", "notes_grep", "fetch"} {
		if a := Default().Action(name, `{"query":"x"}`); a.Op != Other {
			t.Errorf("%s: op %d", name, a.Op)
		}
	}
	rows, err := Default().With([]Row{{Tools: []string{"ask_docs"}, Op: "output"}})
	if err != nil || rows.Action("ask_docs", `{"q":"x"}`).Op != Output {
		t.Errorf("a row of one's own: %v", err)
	}
}
