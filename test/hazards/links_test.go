package hazards

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/tool"
)

// Row: a symlink that leaves the workspace.
func TestLinkOut(t *testing.T) {
	w := newWorld(t)
	w.put("in/a", "inside")
	for name, to := range map[string]string{
		"file": filepath.Join(w.out, "f"), "dir": w.out, "up": "../" + filepath.Base(w.out), "chain": "dir", "chain2": "chain/f",
		"dangling": filepath.Join(w.out, "new"), "danglingdir": filepath.Join(w.out, "newdir"), "magic": "/proc/self/root" + w.out,
		"cwd": "/proc/self/cwd/../../f", "in/deep": "../../../../../../../.." + w.out, "root": "/", "circle": "circle",
	} {
		w.link(to, name)
	}
	a := w.agent()
	for _, name := range []string{
		"file", "dir/f", "up/f", "chain/f", "chain2", "dangling", "danglingdir/f", "magic/f", "cwd", "in/deep/f", "root/etc/passwd",
		"file/", "dir/", "dir/.", "dir/sub/new", "magic/new", "dir/new", "circle",
	} {
		a.fails("invalid_path", "read_file", args{"path": name})
		a.fails("ACCESS_DENIED", "Read", args{"path": name})
		a.fails("invalid_path", "write_file", args{"path": name, "content": "x", "create_dirs": true})
		a.fails("invalid_path", "edit_file", args{"path": name, "edits": edits(secret, "x")})
		a.fails("invalid_path", "list_files", args{"path": name})
		a.fails("invalid_path", "search_text", args{"path": name, "pattern": "from"})
		a.fails("invalid_path", "file_info", args{"path": name})
	}
	for _, tool := range []string{"list_files", "find_files", "search_text"} {
		v := args{"pattern": "f*", "ignored": true, "path": "."}
		if tool == "list_files" {
			delete(v, "pattern")
		}
		r := a.works(tool, v)
		if strings.Contains(r.raw, secret) || strings.Contains(r.raw, "passwd") {
			t.Errorf("%s: %s", tool, r.raw)
		}
	}
	w.outside()
}

// Row: an absolute symlink that stays inside the workspace works.
func TestAbsoluteLinkInside(t *testing.T) {
	w := newWorld(t)
	w.put("d/f", "inside\n")
	w.link(w.abs("d"), "ld")
	w.link(w.abs("d/f"), "lf")
	a := w.agent()
	for _, name := range []string{"ld/f", "lf"} {
		if r := a.works("read_file", args{"path": name}); r.Content != "inside\n" {
			t.Errorf("%s: %s", name, r.raw)
		}
	}
	a.works("edit_file", args{"path": "ld/f", "edits": edits("inside", "edited")})
	if got := w.get("d/f"); got != "edited\n" {
		t.Errorf("%q", got)
	}
}

// Row: a symlink inside the workspace is the target of a write: the link stays, and the file behind it is written.
func TestLinkAsTarget(t *testing.T) {
	w := newWorld(t)
	w.put("d/f", "one\n")
	w.link("d/f", "l")
	w.link("d/new", "ln")
	a := w.agent()
	a.works("read_file", args{"path": "l"})
	a.works("write_file", args{"path": "l", "content": "two\n"})
	a.works("write_file", args{"path": "ln", "content": "new\n"})
	for _, name := range []string{"l", "ln"} {
		if to, err := os.Readlink(w.abs(name)); err != nil || !strings.HasPrefix(to, "d/") {
			t.Errorf("%s: %q, %v", name, to, err)
		}
	}
	if w.get("d/f") != "two\n" || w.get("d/new") != "new\n" {
		t.Error("not written")
	}
}

// Row: a hard link to a file outside can be read. A write to it is refused if no person can be asked, and otherwise the person is
// asked.
func TestHardLink(t *testing.T) {
	w := newWorld(t)
	if err := os.Link(filepath.Join(w.out, "f"), w.abs("h")); err != nil {
		t.Skip(err)
	}
	a := w.agent()
	if r := a.works("read_file", args{"path": "h"}); r.Content != secret {
		t.Errorf("%s", r.raw)
	}
	if r := a.works("file_info", args{"path": "h"}); !strings.Contains(r.raw, `"links":2`) {
		t.Errorf("not noted: %s", r.raw)
	}
	a.fails("permission_denied", "write_file", args{"path": "h", "content": "x"})
	a.fails("permission_denied", "edit_file", args{"path": "h", "edits": edits("from", "x")})
	w.outside()
	w.attended = true
	a, c := w.agent(), w.person()
	a.works("read_file", args{"path": "h"})
	r := a.do("write_file", args{"path": "h", "content": "x"})
	q := question(t, c)
	if !slices.Contains(q.Notes, tool.HardLink) || q.Grantable {
		t.Errorf("%+v", q)
	}
	answer(t, c, q, approval.Approve)
	if r = a.await(r); !r.ok() || w.get("h") != "x" {
		t.Errorf("%s", r.raw)
	}
	w.outside() // the other name has its old content
}

// Row: texts that are not valid paths.
func TestPathShapes(t *testing.T) {
	w := newWorld(t)
	w.put("a/b", "x")
	a := w.agent()
	long := strings.Repeat("a/", 2100)
	for _, name := range []string{
		"", "\x00", "a\x00b", "a/b\x00", long, strings.Repeat("n", 256), "a/" + strings.Repeat("n", 300), "file:///etc/passwd", "file:/etc/passwd",
		"a%2fb", "a%2Fb", "%2e%2e/x", `a\b`, `..\x`, "~", "~/x", "..", "../x", "a/../../x", "a/..", "/etc/passwd", "/", "//etc/passwd", "C:/x", "C:x", "./~/x",
	} {
		r := a.fails("invalid_path", "read_file", args{"path": name})
		if len(r.raw) > 800 || strings.Contains(strings.TrimSuffix(string(r.Error), `."`), ". ") && strings.Count(string(r.Error), ". ") > 2 {
			t.Errorf("%.40q: not one clear sentence: %s", name, r.raw)
		}
		a.fails("invalid_path", "write_file", args{"path": name, "content": "x", "create_dirs": true})
	}
	for name, code := range map[string]string{".": "is_directory", "a": "is_directory", "a/": "is_directory", "a/b/": "file_not_found", "a/b/c": "file_not_found"} {
		r := a.do("read_file", args{"path": name})
		if r.ok() || r.code() != code && r.code() != "invalid_path" {
			t.Errorf("%q: %s", name, r.raw)
		}
	}
	for _, v := range []any{args{"path": 1}, args{"path": nil}, args{"path": []string{"a"}}, args{"path": args{}}, args{"path": true}, args{}, []string{"a"}, "a", 7} {
		r, err := a.try("read_file", v)
		if err == nil && r.code() != "invalid_argument" {
			t.Errorf("%v: %s", v, r.raw)
		}
	}
	w.outside()
}

// Row: escape sequences, newlines and bidirectional controls in names and content are escaped in messages, and flagged.
func TestControlCharacters(t *testing.T) {
	w := newWorld(t)
	w.attended = true
	for _, name := range []string{"esc\x1b[2J", "line\nbreak", "bidi\u202etxt", "csi\u009b31m"} {
		w.put("d/"+name, "x\n")
		a := w.agent()
		for tool, v := range map[string]args{"list_files": {"path": "d"}, "find_files": {"pattern": "**"}} {
			r := a.works(tool, v)
			if strings.Contains(decoded(r), name) {
				t.Errorf("%s: raw name in %q", tool, r.raw)
			}
		}
		r := a.do("read_file", args{"path": "d/" + name + "missing"})
		if strings.ContainsAny(unquoteJSON(string(r.Error)), "\x1b\n\u202e\u009b") {
			t.Errorf("raw in %q", r.Error)
		}
		_ = a.Close() // only one server may run
	}
	a := w.agent()
	c := w.person()
	r := a.do("write_file", args{"path": "evil.txt", "content": "a\x1b[1A\u202e\n"})
	q := question(t, c)
	if !slices.Contains(q.Notes, tool.Hidden) {
		t.Errorf("not flagged: %+v", q)
	}
	answer(t, c, q, approval.Reject)
	if r = a.await(r); r.code() != "user_rejected" {
		t.Errorf("%s", r.raw)
	}
	w.missing("evil.txt")
}

// Row: a name in the other form of Unicode composition (NFC, NFD) finds the existing file.
func TestComposition(t *testing.T) {
	w := newWorld(t)
	nfd := norm.NFD.String("é.txt")
	w.put(nfd, "decomposed\n")
	a := w.agent()
	if r := a.works("read_file", args{"path": norm.NFC.String(nfd)}); r.Content != "decomposed\n" {
		t.Errorf("%s", r.raw)
	}
	a.works("write_file", args{"path": norm.NFC.String(nfd), "content": "again\n"})
	entries, err := os.ReadDir(w.dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if runtime.GOOS == "windows" {
		for _, name := range []string{"NUL", "a:b", "a.", "a "} {
			a.fails("invalid_path", "write_file", args{"path": name, "content": "x"})
		}
	}
}

// Row: a FIFO, a socket, a device, and several of them at once: refused at once, and nothing hangs.
func TestSpecialFiles(t *testing.T) {
	w := newWorld(t)
	w.put("plain", "plain")
	names := makeSpecial(t, w)
	a := w.agent()
	var wg sync.WaitGroup
	for range 4 {
		for _, name := range names {
			for _, tool := range []string{"read_file", "write_file", "edit_file", "Read"} {
				wg.Go(func() {
					v := args{"path": name}
					switch tool {
					case "write_file":
						v["content"] = "x"
					case "edit_file":
						v["edits"] = edits("a", "b")
					}
					r, err := a.try(tool, v)
					if err != nil || r.ok() || !strings.EqualFold(r.code(), "permission_denied") && r.code() != "ACCESS_DENIED" {
						t.Errorf("%s %s: %v %s", tool, name, err, r.raw)
					}
				})
			}
		}
	}
	wg.Wait()
	a.works("read_file", args{"path": "plain"})
	a.works("search_text", args{"pattern": "plain"})
	for _, name := range names {
		if info, err := os.Lstat(w.abs(name)); err != nil || info.Mode().IsRegular() {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// Row: limits that are zero or negative, and unknown arguments.
func TestArguments(t *testing.T) {
	w := newWorld(t)
	w.put("a", "x\n")
	a := w.agent()
	for i, c := range []struct {
		tool, arg string
		v         args
	}{
		{"Read", "limit", args{"path": "a", "limit": 0}},
		{"Read", "limit", args{"path": "a", "limit": -1}},
		{"Read", "limit", args{"path": "a", "limit": 2001}},
		{"Read", "start_line", args{"path": "a", "start_line": 0}},
		{"Read", "offset", args{"path": "a", "offset": 1}},
		{"read_file", "start_line", args{"path": "a", "start_line": -5}},
		{"read_file", "end_line", args{"path": "a", "start_line": 3, "end_line": 2}},
		{"list_files", "limit", args{"limit": 0}},
		{"list_files", "depth", args{"depth": -1}},
		{"find_files", "limit", args{"pattern": "*", "limit": -1}},
		{"search_text", "limit", args{"pattern": "x", "limit": 0}},
		{"search_text", "context", args{"pattern": "x", "context": -1}},
		{"write_file", "mode", args{"path": "a", "content": "y", "mode": 511}},
		{"edit_file", "edits[0].count", args{"path": "a", "edits": []args{{"old_text": "x", "new_text": "y", "count": 0}}}},
		{"write_file", "content", args{"path": "a"}},
	} {
		code := "invalid_argument"
		if c.tool == "Read" {
			code = "INVALID_PARAM"
		}
		if r := a.fails(code, c.tool, c.v); !strings.Contains(string(r.Error), c.arg) {
			t.Errorf("%d: does not name %s: %s", i, c.arg, r.raw)
		}
	}
	if w.get("a") != "x\n" {
		t.Error("written")
	}
}

func decoded(r result) string { return r.Content + r.Text + fmt.Sprint(r.Data.Entries) }

func unquoteJSON(s string) string {
	var text string
	if json.Unmarshal([]byte(s), &text) != nil {
		return s
	}
	return text
}
