package dialect_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stet-dev/stet/trim/dialect"
	"github.com/stet-dev/stet/trim/transcript"
)

// unrecorded are the rows that no call in the recorded sessions is for. They are of agents' sources and documentation, or of requests
// that were captured.
var unrecorded = []string{
	"any/read_file", "any/read_file target", "claude-code/LS", "claude-code/MultiEdit", "claude-code/NotebookEdit", "claude-code/NotebookRead",
	"cline/editor insert", "cline/editor write", "cline/execute_command", "cline/replace_in_file", "cline/write_to_file", "codex/list_dir",
	"codex/read_file", "continue/Edit", "continue/List", "continue/Read", "continue/Write", "copilot-cli/powershell", "copilot-cli/write_bash",
	"editor/create", "editor/insert", "editor/str_replace", "editor/undo_edit", "editor/view", "gemini/list_directory", "gemini/read_file absolute",
	"gemini/read_many_files", "mcp-filesystem/directory_tree", "mcp-filesystem/list_directory", "mcp-filesystem/read_multiple_files",
	"mcp-filesystem/read_text_file", "mcp-filesystem/read_text_file head", "mcp-filesystem/write_file", "opencode/multiedit",
	"openhands/execute_bash", "stet/Read", "stet/edit_file", "stet/filesystem-create", "stet/filesystem-edit", "stet/filesystem-read",
	"stet/list_files", "stet/list_files recursive", "stet/read_file", "stet/terminal-execute", "stet/write_file", "swe-agent/edit",
	"swe-agent/open", "swe-agent/window", "vscode/create_file", "vscode/insert_edit_into_file", "vscode/list_dir", "vscode/read_file",
	"vscode/replace_string_in_file",
}

// Each row is for a call in the recorded sessions of both sets, or named as one without. Nearly all reads that succeeded have a result
// whose form is known.
func TestRowsRecorded(t *testing.T) {
	root := os.Getenv("STET_TRANSCRIPTS")
	if os.Getenv("STET_SOAK") == "" || root == "" {
		t.Skip("reads all recorded sessions: set STET_SOAK=1 and STET_TRANSCRIPTS")
	}
	calls, reads, unknown := map[string]int{}, map[string]int{}, map[string]int{}
	read := func(_ string, sessions []*transcript.Session, _ error) error {
		for _, s := range sessions {
			asked := map[string]dialect.Action{}
			for _, m := range s.Messages {
				for _, p := range m.Parts {
					if p.Name != "" && p.Args != "" {
						a := dialect.Default().Action(p.Name, p.Args)
						asked[p.CallID], calls[a.Row] = a, calls[a.Row]+1
						continue
					}
					a := asked[p.CallID]
					if a.Op != dialect.Read || a.Command != "" {
						continue
					}
					r := dialect.Default().Result(a, p.Text, p.IsError)
					if r.Failed || len(p.Text) < 200 {
						continue
					}
					reads[a.Row]++
					if !r.Unchanged && !slices.ContainsFunc(r.Sections, func(s dialect.Section) bool { return s.First > 0 || s.Dir || s.Unchanged || s.Failed }) {
						unknown[a.Row]++
					}
				}
			}
		}
		return nil
	}
	if err := (transcript.Opener{}).Walk([]string{root, filepath.Clean(root) + "-2"}, read); err != nil {
		t.Fatal(err)
	}
	for _, row := range dialect.Default().RowNames() {
		if calls[row] > 0 == slices.Contains(unrecorded, row) {
			t.Errorf("%s: %d calls; correct the list", row, calls[row])
		}
	}
	for _, row := range slices.Sorted(maps.Keys(reads)) {
		t.Logf("%s: %d reads, %d of a form that is not known", row, reads[row], unknown[row])
		if 20*unknown[row] > reads[row] {
			t.Errorf("%s: %d of %d results have a form that is not known", row, unknown[row], reads[row])
		}
	}
}
