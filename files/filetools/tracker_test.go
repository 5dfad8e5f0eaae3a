package filetools

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/tool"
)

// The tests that the specification of the read tracker names, under its names.

func TestReadFile_ReturnsFullContent_OnFirstRead(t *testing.T) { // TRK-6
	b := newBench(t, Config{Dedupe: &Dedupe{}}, workspace.Options{})
	b.put("a.cs", "class A {}\n")
	if got := Plain(b.call("read_file", `{"path":"a.cs"}`)); got != "class A {}\n" {
		t.Errorf("%q", got)
	}
}

func TestReadFile_ReturnsShortMessage_OnSecondRead(t *testing.T) { // TRK-6
	b := newBench(t, Config{Dedupe: &Dedupe{}}, workspace.Options{})
	b.put("a.cs", "class A {}\n")
	b.call("read_file", `{"path":"a.cs"}`)
	if got := Plain(b.call("read_file", `{"path":"a.cs"}`)); got != "[File previously read: a.cs. Content unchanged since last read.] With full: true it is shown." {
		t.Errorf("%q", got)
	}
	if n := b.tools.Tracker("one").ReadCount("a.cs"); n != 2 {
		t.Errorf("count %d, want 2", n)
	}
}

func TestReadFile_ReturnsFullContent_AfterWriteInvalidation(t *testing.T) { // TRK-7
	b := newBench(t, Config{Dedupe: &Dedupe{}}, workspace.Options{})
	b.put("a.cs", "class A {}\n")
	b.call("read_file", `{"path":"a.cs"}`)
	b.call("read_file", `{"path":"a.cs"}`)
	if got := Plain(b.call("write_file", `{"path":"a.cs","content":"class B {}\n"}`)); got != "File written: a.cs" {
		t.Errorf("%q", got)
	}
	if got := Plain(b.call("read_file", `{"path":"a.cs"}`)); got != "class B {}\n" {
		t.Errorf("%q", got)
	}
}

// TRK-8, TRK-10: without Dedupe nothing is shortened.
func TestNoDedupeByDefault(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("a", "text\n")
	for range 3 {
		if o := b.op("read_file", `{"path":"a"}`); o.text() != "text\n" {
			t.Errorf("%q", o.text())
		}
	}
	if n := b.tools.Tracker("one").ReadCount("a"); n != 3 {
		t.Errorf("count %d", n)
	}
}

// TRK-12: reads that failed, and writes that were rejected, do not change what the session has seen.
func TestWhatIsNotTracked(t *testing.T) {
	b := newBench(t, Config{Dedupe: &Dedupe{}}, workspace.Options{})
	if got := Plain(b.call("read_file", `{"path":"none"}`)); got != "Error: File not found: none" {
		t.Errorf("%q", got)
	}
	if got := Plain(b.call("read_file", `{"path":"../none"}`)); !strings.HasPrefix(got, "Error: invalid_path") {
		t.Errorf("%q", got)
	}
	k := b.tools.Tracker("one")
	if k.HasBeenRead("none") || len(k.Files()) != 0 {
		t.Error("a failed read is tracked")
	}
	b.put("a", "1\n")
	b.op("read_file", `{"path":"a"}`)
	b.plan("write_file", `{"path":"a","content":"2\n"}`) // the plan is not applied, as after a rejection
	if o := b.op("edit_file", `{"path":"a","edits":[{"old_text":"x","new_text":"y"}]}`); o.Success {
		t.Error("edited")
	}
	if o := b.op("read_file", `{"path":"a"}`); o.Data["unchanged"] != true {
		t.Errorf("a rejected write invalidates: %q", o.text())
	}
	// A missing file is reported before anything is shortened.
	b.other("rm a")
	if o := b.op("read_file", `{"path":"a"}`); o.code != tool.FileNotFound {
		t.Errorf("%+v", o)
	}
}

// TRK-12: a write that fails when it is done does not invalidate, whatever it fails by. TRK-7: every own write does, also one that puts
// back what was shown before.
func TestWhatInvalidates(t *testing.T) {
	for _, name := range []string{"write_file", "edit_file", "undo", "undo of a new file"} {
		b := newBench(t, Config{Dedupe: &Dedupe{}}, workspace.Options{})
		k := b.tools.Tracker("one")
		b.put("a", "1\n")
		if name == "undo of a new file" {
			b.other("rm a")
		}
		b.op("write_file", `{"path":"a","content":"2\n"}`) // write 1
		b.op("read_file", `{"path":"a"}`)
		call, a := name, `{"write":1}`
		switch name {
		case "write_file":
			a = `{"path":"a","content":"3\n"}`
		case "edit_file":
			a = `{"path":"a","edits":[{"old_text":"2","new_text":"3"}]}`
		case "undo of a new file":
			call = "undo"
		}
		for _, fails := range []func(){ // between the plan and the write
			func() { b.other("rm a"); b.other("mkdir a") },
			func() { b.put("a", "9\n") },
		} {
			b.between = fails
			if o := b.op(call, a); o.Success {
				t.Errorf("%s: %+v", name, o)
			}
			_ = os.Remove(b.file("a"))
			b.put("a", "2\n")
			f, _ := k.File("a", workspace.Stamp{})
			if k.ReadCount("a") == 0 || !f.EditedAt.Before(f.ReadAt) {
				t.Errorf("%s that failed invalidates: %+v", name, f)
			}
			if o := b.op("read_file", `{"path":"a"}`); o.Data["unchanged"] != true {
				t.Errorf("%s that failed invalidates: %q", name, o.text())
			}
			b.op("read_file", `{"path":"a"}`) // full again, as the agent insists
		}
		if o := b.op(call, a); !o.Success || k.HasBeenRead("a") {
			t.Errorf("%s does not invalidate: %+v", name, o)
		}
		b.put("a", "2\n") // what was shown before
		if o := b.op("read_file", `{"path":"a"}`); o.text() != "2\n" {
			t.Errorf("read after %s: %q", name, o.text())
		}
	}
}

// TRK-10: lines count as visible until more tokens than the budget were sent after them.
func TestDedupeBudget(t *testing.T) {
	b := newBench(t, Config{Dedupe: &Dedupe{Budget: 1000, Count: func(s string) int { return len(s) / 4 }}}, workspace.Options{})
	b.put("a", "text\n")
	b.put("b", strings.Repeat("0123456789\n", 100))
	short := func() bool { t.Helper(); return b.op("read_file", `{"path":"a"}`).Data["unchanged"] == true }
	if short() || !short() || short() || !short() || !short() {
		t.Error("not full, short, full, short, short")
	}
	for i := range 4 {
		b.op("read_file", args("path", "b", "start_line", 1+i*25, "end_line", 25+i*25))
	}
	if !short() {
		t.Error("forgotten within the budget")
	}
	if b.op("read_file", `{"path":"a","full":true}`).Data["unchanged"] == true || !short() {
		t.Error("full: true does not help, or for longer than one call")
	}
	for range 3 {
		b.op("search_text", `{"pattern":"0123","limit":100}`)
		b.op("search_text", `{"pattern":"1234","limit":100}`)
	}
	if short() {
		t.Error("a line points at what is out of the window")
	}
}

// TRK-6, TRK-10: what is answered with one line. A version is shown again once to the same call directly after the line, and always
// with full.
func TestRepeatedReads(t *testing.T) {
	const a, whole, part, other = `{"path":"a"}`, `{"path":"a","full":true}`, `{"path":"a","start_line":1}`, `{"path":"b"}`
	for _, c := range []struct{ reads, want []string }{
		{[]string{a, a, a, a, a, a}, []string{"full", "line", "full", "line", "line", "line"}},
		{[]string{a, a, whole, a, a, whole, whole}, []string{"full", "line", "full", "line", "full", "full", "full"}},
		{[]string{a, a, other, a, a, a}, []string{"full", "line", "full", "line", "full", "line"}},
		{[]string{a, part, a, part, part, part}, []string{"full", "line", "line", "line", "full", "line"}},
		{[]string{whole, a, `{ "path" : "a", "encoding": null }`, a}, []string{"full", "line", "full", "line"}},
		{[]string{a, a, a, a, "write", a, a, a, a}, []string{"full", "line", "full", "line", "", "full", "line", "full", "line"}},
	} {
		b := newBench(t, Config{Dedupe: &Dedupe{}}, workspace.Options{})
		b.put("a", "text\n")
		b.put("b", "text\n")
		var got []string
		for _, args := range c.reads {
			if args == "write" {
				b.put("a", "other\n")
				got = append(got, "")
				continue
			}
			is := "full"
			if o := b.op("read_file", args); o.Data["unchanged"] == true {
				if is = "line"; !strings.HasSuffix(o.text(), "] With full: true it is shown.") {
					t.Error(o.text())
				}
			}
			got = append(got, is)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %s, want %s", c.reads, got, c.want)
		}
	}
}

// TRK-10: clients that share a session by their token are shown everything, and full is accepted where nothing is shortened.
func TestSharedSessionIsNotShortened(t *testing.T) {
	for _, c := range []struct {
		dedupe  *Dedupe
		account string
		want    bool
	}{{&Dedupe{}, "", true}, {&Dedupe{}, "one", false}, {&Dedupe{}, "token", true}, {nil, "", false}} {
		b := newBench(t, Config{Dedupe: c.dedupe}, workspace.Options{})
		b.put("a", "text\n")
		read, _ := b.set.Get("read_file")
		text := ""
		for _, args := range []string{`{"path":"a","full":true}`, `{"path":"a"}`} {
			p, err := read.Plan(t.Context(), tool.Call{Session: "one", Account: c.account, Name: "read_file", Arguments: []byte(args)})
			if err != nil {
				t.Fatal(err)
			}
			text = p.Result().Text
		}
		if got := strings.Contains(text, "previously read"); got != c.want {
			t.Errorf("%+v: %s", c, text)
		}
		if shown := strings.Contains(string(read.Spec().Schema), `"full"`); shown != (c.dedupe != nil) {
			t.Errorf("%+v: %s", c, read.Spec().Schema)
		}
	}
}

// TRK-10: the default budget is exactly 50,000 tokens.
func TestDedupeDefaultBudget(t *testing.T) {
	for after, want := range map[int]bool{50_000: true, 50_001: false} {
		marks := func(s string) int { return strings.Count(s, "#") }
		b := newBench(t, Config{Dedupe: &Dedupe{Count: marks}}, workspace.Options{})
		b.put("a", "text\n")
		b.put("b", strings.Repeat("#", after))
		b.op("read_file", `{"path":"a"}`)
		b.op("read_file", `{"path":"b"}`)
		if short := b.op("read_file", `{"path":"a"}`).Data["unchanged"] == true; short != want {
			t.Errorf("%d tokens later: one line is %v, want %v", after, short, want)
		}
	}
}

// TRK-9: the shown lines decide whether a read is a repeat, not the spelling of the path.
func TestDedupeByContent(t *testing.T) {
	b := newBench(t, Config{Dedupe: &Dedupe{}}, workspace.Options{})
	b.put("dir/a", "1\n2\n3\n4\n")
	b.other("ln link dir/a")
	if b.op("read_file", `{"path":"dir/a","start_line":1,"end_line":2}`).Data["unchanged"] == true {
		t.Error("first read")
	}
	if b.op("read_file", `{"path":"dir/a"}`).Data["unchanged"] == true {
		t.Error("more lines than were shown")
	}
	if b.op("read_file", `{"path":"link","start_line":2,"end_line":3}`).Data["unchanged"] != true {
		t.Error("the same lines through a link")
	}
	b.put("dir/a", "1\n2\n3\n5\n")
	if b.op("read_file", `{"path":"dir/a","start_line":1,"end_line":2}`).Data["unchanged"] == true {
		t.Error("a file that was changed is no repeat")
	}
}

// TRK-11: a changed file is shown as a diff, if that is shorter.
func TestDedupeByDifference(t *testing.T) {
	lines := make([]string, 200)
	for i := range lines {
		lines[i] = fmt.Sprintf("this is line number %d\n", i+1)
	}
	before := strings.Join(lines, "")
	lines[99] = "this one is new\n"
	after := strings.Join(lines, "")
	want := "[File previously read: a. Changed since last read:]\n--- a/a\n+++ b/a\n@@ -97,7 +97,7 @@\n"
	for _, c := range []struct {
		name   string
		dedupe Dedupe
		after  string
		short  bool
	}{
		{"a little", Dedupe{}, after, true},
		{"a lot", Dedupe{}, strings.ToUpper(before), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, Config{Dedupe: &c.dedupe}, workspace.Options{})
			b.put("a", before)
			b.op("read_file", `{"path":"a"}`)
			b.put("a", c.after)
			o := b.op("read_file", `{"path":"a"}`)
			if got := strings.HasPrefix(o.text(), want); got != c.short || c.short != (o.Data["diff"] == true) {
				t.Fatalf("%.200s", o.text())
			}
			if !c.short {
				return
			}
			if *o.LinesRead != 0 {
				t.Errorf("%d lines of the file are not in the difference", *o.LinesRead)
			}
			if o := b.op("read_file", `{"path":"a"}`); o.text() != c.after {
				t.Errorf("insisting: %.100s", o.text())
			}
			if o := b.op("read_file", `{"path":"a"}`); o.Data["unchanged"] != true {
				t.Errorf("and again: %.100s", o.text())
			}
			b.put("a", before)
			r := b.read("path", "a")
			if !strings.HasPrefix(r.Text, "[File previously read: a. Changed") || r.Data.Content != "" || r.Stats.Lines != 0 || r.Stats.Total != 200 {
				t.Errorf("%+v", r) // the content of the result is numbered lines or nothing (READ-2, READ-3)
			}
		})
	}
}

// A missing file is not treated as a known file whose name differs only in case. (TRK-5)
func TestMissingFileIsKnownByItsNameAlone(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("Makefile", "all:\n")
	if _, err := os.Stat(filepath.Join(b.dir, "makefile")); err == nil {
		t.Skip("names that differ in case are one file here")
	}
	b.op("read_file", `{"path":"Makefile"}`)
	if o := b.op("write_file", `{"path":"makefile","content":"other:\n"}`); !o.Success {
		t.Errorf("%s", o.Error)
	}
	b.op("edit_file", `{"path":"Makefile","edits":[{"old_text":"all","new_text":"every"}]}`)
	if b.get("makefile") != "other:\n" || b.get("Makefile") != "every:\n" {
		t.Errorf("%q, %q", b.get("makefile"), b.get("Makefile"))
	}
}

// The plain text of a result also says what a write did in addition to the request, what an undo did, that nothing was found
// and why, what was skipped, and what is in conflict. (TRK-12)
func TestPlainTellsAll(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("a", "1\n2\n3\n4\n5\n")
	b.op("read_file", `{"path":"a"}`)
	b.put("a", "1\n2\n3\n4\nV\n")
	b.put("d/c", "1\n2\n")
	b.put("empty", "")
	b.put(".env", "KEY=1\n")
	b.put("binary", "\x00")
	b.op("read_file", `{"path":"d/c"}`)
	b.put("d/c", "1\nII\n")
	const skipped = "[Skipped: .env: it may hold keys or passwords; to read it, name it]\n[Skipped: 1 that are not named here, as files that are no text]"
	for _, c := range []struct{ name, args, want string }{
		{"edit_file", `{"path":"a","edits":[{"old_text":"1","new_text":"I"}]}`,
			"File written: a\nmerged with what somebody else has changed\n--- asked\n+++ written\n@@ -2,4 +2,4 @@\n 2\n 3\n 4\n-5\n+V\n"},
		{"write_file", `{"path":"new/b","content":""}`,
			"Error: File not found: new/b\nthe directory it would be in does not exist; with create_dirs it is made"},
		{"edit_file", `{"path":"b","edits":[{"old_text":"1","new_text":"I"}]}`,
			"Error: File not found: b\nthe file does not exist; use write_file to make it"},
		{"read_file", `{"path":"b"}`, "Error: File not found: b"},
		{"Read", `{"path":"b"}`, "Error: File not found: b"},
		{"read_file", `{"path":"empty"}`, ""},
		{"list_files", `{"path":"d"}`, "d/c"},
		{"find_files", `{"pattern":"*.go"}`, "[Nothing found.]"},
		{"find_files", `{"pattern":"d"}`, "[Nothing found.]\n[the pattern matches no file; it matches the directory d/: give it as path]"},
		{"search_text", `{"pattern":"a\\b"}`, "[Nothing found.]\n[the pattern was searched for to the letter; with regexp it is a regular expression]\n" + skipped},
		{"search_text", `{"pattern":"II"}`, "d/c\n2: II\n" + skipped},
		{"search_text", `{"pattern":"1","glob":"*.go"}`, "[Nothing found.]\n[no file was searched: the glob matches none]"},
		{"write_file", `{"path":"d/c","content":"1\nzwei\n"}`, "Error: concurrent_modification: the file was changed by somebody else since it was read, " +
			"in the same place (conflicts: 1); read it again\n1\n<<<<<<< this write\nzwei\n=======\nII\n>>>>>>> on disk"},
	} {
		if got := Plain(b.call(c.name, c.args)); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.name, c.args, got, c.want)
		}
	}
	if got := Plain(b.call("undo", `{"write":1}`)); !strings.Contains(got, `"undone":[1]`) {
		t.Errorf("%q", got)
	}
}
