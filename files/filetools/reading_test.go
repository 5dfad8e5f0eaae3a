package filetools

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/tool"
)

// readResult is a decoded result of a read.
type readResult struct {
	Status  string
	Data    readData
	Text    string
	Stats   readStats
	Context struct {
		Cwd      string
		Params   map[string]any `json:"params_input"`
		Resolved string         `json:"path_resolved"`
	}
	Error *envelopeError
	code  tool.Code
}

func (b *bench) read(kv ...any) readResult {
	b.t.Helper()
	r := b.call("Read", args(kv...))
	var top map[string]json.RawMessage
	if err := json.Unmarshal([]byte(r.Text), &top); err != nil {
		b.t.Fatal(err)
	}
	want := 5
	if r.Failed() {
		want = 6
		if string(top["data"]) != "{}" {
			b.t.Errorf("data of an error is %s", top["data"])
		}
	}
	for _, k := range []string{"status", "data", "text", "stats", "context"} {
		if top[k] == nil {
			b.t.Errorf("no %s in %s", k, r.Text)
		}
	}
	if len(top) != want { // READ-2
		b.t.Errorf("%d keys in %s", len(top), r.Text)
	}
	var out readResult
	if err := json.Unmarshal([]byte(r.Text), &out); err != nil {
		b.t.Fatal(err)
	}
	out.code = r.Code
	return out
}

// The schemas are those of the specification, except start_column.
func TestSchemas(t *testing.T) { // FILE-1, READ-1
	want := map[string]string{
		"Read": `{"type":"object","required":["path"],"properties":{
			"path":{"type":"string"},
			"start_line":{"type":"integer","default":1},
			"limit":{"type":"integer","default":500},
			"start_column":{"type":"integer"}}}`,
		"read_file": `{"type":"object","required":["path"],"properties":{
			"path":{"type":"string"},
			"encoding":{"type":"string","default":"utf-8"},
			"start_line":{"type":"integer","minimum":1},
			"end_line":{"type":"integer","minimum":1}}}`,
		"write_file": `{"type":"object","required":["path","content"],"properties":{
			"path":{"type":"string"},
			"content":{"type":"string"},
			"encoding":{"type":"string","default":"utf-8"},
			"create_dirs":{"type":"boolean","default":false},
			"backup":{"type":"boolean","default":true}}}`,
	}
	b := newBench(t, Config{}, workspace.Options{})
	for name, schema := range want {
		x, _ := b.set.Get(name)
		var got, expect map[string]any
		if err := json.Unmarshal(x.Spec().Schema, &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(schema), &expect); err != nil {
			t.Fatal(err)
		}
		for _, p := range got["properties"].(map[string]any) {
			delete(p.(map[string]any), "description")
		}
		if !reflect.DeepEqual(got, expect) {
			t.Errorf("%s: %v, want %v", name, got, expect)
		}
	}
	for _, s := range b.set.Specs() {
		if writes := slices.Contains([]string{"write_file", "edit_file", "undo"}, s.Name); s.ReadOnly == writes || s.Destructive != writes {
			t.Errorf("%s: read-only %v, destructive %v", s.Name, s.ReadOnly, s.Destructive)
		}
	}
}

func TestPageOfManyLines(t *testing.T) { // READ-1, READ-10
	b := newBench(t, Config{}, workspace.Options{})
	b.put("src/utils.py", strings.Repeat("import os\n", 1523))
	r := b.read("path", "src/utils.py")
	if r.Status != "partial" || !r.Data.Truncated || r.Stats.Lines != 500 || r.Stats.Total != 1523 ||
		!strings.HasPrefix(r.Data.Content, "   1 | import os\n   2 | ") || !strings.HasSuffix(r.Data.Content, " 500 | import os\n") ||
		!strings.HasSuffix(r.Text, "\n[Truncated: Showing first 500 of 1523 lines. Use start_line=501 to continue.]") {
		t.Errorf("%+v", r)
	}
	if r := b.read("path", "src/utils.py", "start_line", 1001, "limit", 2000); r.Status != "success" || !strings.HasPrefix(r.Data.Content, "1001 | ") ||
		!strings.Contains(r.Text, "(Lines 1001-1523)") {
		t.Errorf("%+v", r)
	}
}

// A line of 10 MB is cut, and the rest can be read. (READ-1, hazards)
func TestLongLine(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("min.js", "var a;\n"+strings.Repeat("0123456789", 1<<20)+"\nlast\n")
	r := b.read("path", "min.js")
	if r.Status != "partial" || r.Stats.Lines != 3 || len(r.Data.Content) > 10_000 ||
		!strings.Contains(r.Text, "Use start_line=2 and start_column=2001 ") {
		t.Fatalf("%.500s", r.Text)
	}
	r = b.read("path", "min.js", "start_line", 2, "start_column", 10<<20-4, "limit", 1)
	if r.Data.Content != "   2 | 56789\n" || !strings.Contains(r.Text, "start_line=3 to continue") {
		t.Errorf("%+v", r)
	}
	b.put("one", strings.Repeat("x", 5000))
	if r := b.read("path", "one"); !strings.Contains(r.Text, "[Truncated: Showing a part of line 1 of 1 lines. Use start_line=1 and start_column=2001 to continue.]") {
		t.Error(r.Text)
	}
	if o := b.op("read_file", args("path", "min.js")); o.code != tool.FileTooLarge || !strings.Contains(o.Error, "start_line") {
		t.Errorf("%+v", o) // FILE-8
	}
	if o := b.op("read_file", args("path", "min.js", "start_line", 3)); o.text() != "last\n" {
		t.Errorf("%+v", o)
	}
}

// A page of a file that is larger than the memory, and of a file whose lines cannot be counted in time. (READ-4)
func TestSparseFile(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{CountTime: time.Millisecond})
	b.put("big", "one\ntwo\nthree\n")
	if err := os.Truncate(b.file("big"), 1<<40); err != nil {
		t.Skip(err)
	}
	if r := b.read("path", "big", "limit", 2); r.code != tool.BinaryFile {
		t.Errorf("%+v", r) // the NULs begin in the first 8 KB
	}
	b.put("text", strings.Repeat("0123456789abcde\n", 1000))
	if err := os.Truncate(b.file("text"), 1<<40); err != nil {
		t.Skip(err)
	}
	r := b.read("path", "text", "start_line", 3, "limit", 2)
	if r.Data.Content != "   3 | 0123456789abcde\n   4 | 0123456789abcde\n" || r.Status != "partial" {
		t.Errorf("%+v", r)
	}
	if r.Stats.Total < 0 && !strings.Contains(r.Text, "lines. Use start_line=5") || r.Stats.Total < 0 && !strings.Contains(r.Text, "of at least 1") {
		t.Errorf("%+v", r)
	}
}

// Read accepts absolute paths and "..", if they lead inside the root. (FILE-7)
func TestReadTakesAbsolutePaths(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("src/a.go", "package a\n")
	for _, p := range []string{b.file("src/a.go"), "src/../src/a.go", "./src//a.go", "../" + filepath.Base(b.dir) + "/src/a.go"} {
		if r := b.read("path", p); r.Status != "success" || r.Context.Resolved != "src/a.go" || r.Context.Params["path"] != p || r.Context.Cwd != "." {
			t.Errorf("%s: %+v", p, r) // READ-5
		}
	}
	o := b.op("read_file", args("path", "src/../src/a.go"))
	if o.code != tool.InvalidPath || !strings.Contains(o.Error, "use src/a.go") {
		t.Errorf("%+v", o)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := b.read("path", secret)
	none := b.read("path", secret+"-none")
	if r.Error.Code != "ACCESS_DENIED" || r.Text != none.Text {
		t.Errorf("%q tells more than %q", r.Text, none.Text)
	}
}

// The system does not permit the read. (READ-7, FILE-5)
func TestUnreadableFile(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	b := newBench(t, Config{}, workspace.Options{})
	b.put("a", "x")
	if err := os.Chmod(b.file("a"), 0); err != nil {
		t.Fatal(err)
	}
	if r := b.read("path", "a"); r.Error.Code != "ACCESS_DENIED" || r.Text != "Permission denied: 'a'." {
		t.Errorf("%+v", r)
	}
	if o := b.op("read_file", `{"path":"a"}`); o.code != tool.PermissionDenied {
		t.Errorf("%+v", o)
	}
}

// An error that the caller gives for a call is returned in the tool's own format.
func TestRefuse(t *testing.T) { // FILE-5
	b := newBench(t, Config{}, workspace.Options{})
	c := tool.Call{ID: "7", Session: "one", Name: "Read", Arguments: json.RawMessage(`{"path":"a"}`)}
	x, _ := b.set.Get("Read")
	r := x.(tool.Refuser).Refuse(c, tool.RateLimited, "Wait.")
	var e readResult
	if err := json.Unmarshal([]byte(r.Text), &e); err != nil || e.Error.Code != "RATE_LIMITED" || e.Text != "Wait." || r.CallID != "7" || r.Code != tool.RateLimited {
		t.Errorf("%s %v", r.Text, err)
	}
	x, _ = b.set.Get("write_file")
	o := decodeOp(t, x.(tool.Refuser).Refuse(c, tool.UserRejected, "No: use tabs."))
	if o.Error != "user_rejected: No: use tabs." {
		t.Errorf("%+v", o)
	}
}

func TestCancelled(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("a", "x\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range [][2]string{{"read_file", `{"path":"a"}`}, {"search_text", `{"pattern":"x"}`}, {"find_files", `{"pattern":"*"}`}} {
		x, _ := b.set.Get(c[0])
		p, err := x.Plan(ctx, tool.Call{Name: c[0], Arguments: json.RawMessage(c[1])})
		if err != nil || p.Done == nil || p.Done.Code != tool.Cancelled {
			t.Errorf("%s: %+v %v", c[0], p, err)
		}
	}
}

// An internal failure is an error, and not a result.
func TestInternalFailure(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("a", "x\n")
	b.root.Close()
	x, _ := b.set.Get("read_file")
	if _, err := x.Plan(t.Context(), tool.Call{Arguments: json.RawMessage(`{"path":"a"}`)}); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

// Hidden paths are in no listing and no search.
func TestHidden(t *testing.T) {
	b := newBench(t, Config{Hidden: func(p string) bool { return p == "secrets" || strings.HasPrefix(p, "secrets/") || p == "key" }}, workspace.Options{})
	b.put("secrets/a", "password\n")
	b.put("key", "password\n")
	b.put("open", "password\n")
	for _, c := range [][2]string{
		{"list_files", `{"depth":9}`}, {"find_files", `{"pattern":"**"}`},
	} {
		if o := b.op(c[0], c[1]); o.text() != "open" {
			t.Errorf("%s: %q", c[0], o.text())
		}
	}
	if o := b.op("search_text", `{"pattern":"password"}`); o.text() != "open\n1: password\n" {
		t.Errorf("%q", o.text())
	}
	if o := b.op("search_text", `{"pattern":"password","path":"secrets"}`); o.text() != "" {
		t.Errorf("%q", o.text())
	}
}

func TestSessionsAreBounded(t *testing.T) {
	b := newBench(t, Config{Sessions: 2}, workspace.Options{})
	b.put("a", "x\n")
	for _, s := range []string{"one", "two", "one", "three"} {
		b.session = s
		b.op("read_file", `{"path":"a"}`)
	}
	if !b.tools.Tracker("one").HasBeenRead("a") || b.tools.Tracker("two").HasBeenRead("a") {
		t.Error("not the session least used was forgotten")
	}
	b.tools.End("one")
	if b.tools.Tracker("one").HasBeenRead("a") {
		t.Error("a session that ended is remembered")
	}
}
