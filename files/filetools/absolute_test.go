package filetools

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/tool"
)

// FILE-7, FILE-11: every tool takes an absolute path inside the root, in any spelling of the root, and the result has the relative
// one. Where absolute paths are refused, the error names the relative path. Neither counts as an escape, and a path that leaves
// the root does.
func TestAbsolutePaths(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(b.dir, link); err != nil {
		t.Fatal(err)
	}
	h := &approval.Handler{
		Tools: &b.set, Root: b.dir, Relative: b.root.Relative, Rate: -1, Suspicion: policy.Suspicion{Do: policy.Suspend},
		Approver: person(func(q approval.Question) approval.Answer {
			if strings.HasPrefix(q.Path, "/") {
				t.Errorf("a person is shown %s", q.Path)
			}
			return approval.Answer{Verdict: approval.Approve}
		}),
	}
	call := func(relative bool, name, args string) tool.Result {
		t.Helper()
		r, err := h.Call(t.Context(), tool.Call{Session: "one", Name: name, Arguments: json.RawMessage(args), Relative: relative})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, root := range []string{b.dir, link, b.dir + "/", b.dir + "//", "/" + b.dir, filepath.Dir(b.dir) + "//" + filepath.Base(b.dir)} {
		b.put("d/a.txt", "one\n")
		for _, c := range []struct{ name, args, file string }{
			{"Read", "", "d/a.txt"}, {"read_file", "", "d/a.txt"}, {"read_file", `,"start_line":1`, "d/a.txt"}, {"file_info", "", "d/a.txt"},
			{"write_file", `,"content":"two\n"`, "d/a.txt"}, {"edit_file", `,"edits":[{"old_text":"two","new_text":"one"}]`, "d/a.txt"},
			{"list_files", "", "d"}, {"LS", "", "d/"}, {"list_files", "", "."}, {"find_files", `,"pattern":"*.txt"`, "d"}, {"search_text", `,"pattern":"o"`, "d"},
			{"search_text", `,"pattern":"o"`, "d/a.txt"}, {"write_file", `,"content":"x","create_dirs":true`, "new/dir/f"}, {"read_file", "", "none"},
		} {
			path := root + "/" + c.file
			if c.file == "." {
				path = root
			}
			args := `{"path":"` + path + `"` + c.args + "}"
			r := call(false, c.name, args)
			relative := `"` + strings.TrimSuffix(c.file, "/") + `"`
			if r.Failed() != (c.file == "none") || strings.Contains(r.Text, root) && c.name != "Read" || !strings.Contains(r.Text, relative) {
				t.Errorf("%s %s: %s", c.name, path, r.Text)
			}
			if c.name == "Read" { // its source asks for a path in the root alone
				continue
			}
			if r := call(true, c.name, args); r.Code != tool.InvalidPath || r.Outside || !strings.Contains(r.Text, "use "+strings.TrimSuffix(c.file, "/")) {
				t.Errorf("%s %s, where absolute paths are refused: %s", c.name, path, r.Text)
			}
		}
		for _, c := range [][2]string{{"find_files", `{"pattern":"ROOT/**/*.txt"}`}, {"find_files", `{"pattern":"ROOT/d/*.txt","path":"d"}`}, {"search_text", `{"pattern":"o","glob":"ROOT/d/a.*"}`}} {
			if r := call(false, c[0], strings.ReplaceAll(c[1], "ROOT", root)); !strings.Contains(r.Text, `"content":"d/a.txt`) {
				t.Errorf("%s %s below %s: %s", c[0], c[1], root, r.Text)
			}
		}
		call(false, "undo", `{"all":true}`)
	}
	b.tools.cfg.Relative = true // the key
	if r := call(false, "read_file", args("path", b.file("d/a.txt"))); r.Code != tool.InvalidPath {
		t.Errorf("%+v", r)
	}
	b.tools.cfg.Relative = false
	for range 5 {
		if r := call(false, "Read", args("path", "/etc/passwd")); !r.Outside {
			t.Errorf("%+v", r)
		}
	}
	if r := call(false, "Read", args("path", "d/a.txt")); r.Code != tool.PermissionDenied {
		t.Errorf("not suspended: %+v", r)
	}
}
