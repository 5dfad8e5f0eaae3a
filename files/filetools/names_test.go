package filetools

import (
	"runtime"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/tool"
)

// Every name that a listing, a glob or a search shows can be given back to every tool that takes a path.
func TestShownNamesAreRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such names")
	}
	b := newBench(t, Config{}, workspace.Options{})
	names := []string{"a:b.txt", `a\b.txt`, "line\nend.txt", "tab\tc.txt", "p%2fq.txt", `q"q.txt`, "~", "c:/d.txt", norm.NFD.String("é.txt"), " blank ", "bell\a.txt"}
	for _, n := range names {
		b.put(n, "word\n")
	}
	shown := map[string][]string{
		"list_files":  strings.Split(b.op("list_files", args("depth", 2)).text(), "\n"),
		"find_files":  strings.Split(b.op("find_files", args("pattern", "*")).text(), "\n"),
		"search_text": nil,
	}
	for _, block := range strings.Split(b.op("search_text", args("pattern", "word")).text(), "\n\n") {
		name, _, _ := strings.Cut(block, "\n")
		shown["search_text"] = append(shown["search_text"], name)
	}
	for from, all := range shown {
		found := 0
		for _, n := range all {
			if strings.HasSuffix(n, "/") {
				continue
			}
			found++
			for _, tool := range []string{"read_file", "file_info"} {
				if o := b.op(tool, args("path", n)); !o.Success {
					t.Errorf("%s shows %q, and %s: %s", from, n, tool, o.Error)
				}
			}
			if r := b.call("Read", args("path", n)); r.Failed() {
				t.Errorf("%s shows %q, and Read: %s", from, n, r.Text)
			}
			if o := b.op("search_text", args("path", n, "pattern", "word")); !o.Success || o.Data["matches"] != 1.0 {
				t.Errorf("%s shows %q, and search_text: %+v", from, n, o)
			}
		}
		if found != len(names) {
			t.Errorf("%s shows %q", from, all)
		}
	}
	edit := args("path", `line\nend.txt`, "edits", []any{map[string]any{"old_text": "word", "new_text": "other"}})
	if o := b.op("edit_file", edit); !o.Success || b.get("line\nend.txt") != "other\n" {
		t.Errorf("an edit of a name as it is shown: %+v", o)
	}
}

// Characters match composed and decomposed: in globs, in paths, and in a literal search.
func TestComposedAndDecomposed(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	for _, n := range []string{norm.NFD.String("dé/é.txt"), norm.NFC.String("dü/ü.txt")} {
		b.put(n, norm.NFC.String("Käse\n")+norm.NFD.String("Käse\n"))
	}
	for _, form := range []norm.Form{norm.NFC, norm.NFD} {
		for _, n := range []string{"dé/é.txt", "dü/ü.txt"} {
			n := form.String(n)
			for _, pattern := range []string{n, "**/" + n[strings.Index(n, "/")+1:], n[:strings.Index(n, "/")] + "/*"} {
				if o := b.op("find_files", args("pattern", pattern)); o.Data["files"] != 1.0 {
					t.Errorf("%+q finds %+v", pattern, o)
				}
				if o := b.op("search_text", args("pattern", form.String("Käse"), "glob", pattern)); o.Data["matches"] != 2.0 {
					t.Errorf("%+q: %+v", pattern, o)
				}
			}
			if o := b.op("search_text", args("pattern", "K", "path", n)); o.Data["matches"] != 2.0 {
				t.Errorf("%+q as a path: %+v", n, o)
			}
		}
	}
	if o := b.op("find_files", args("pattern", "!"+norm.NFC.String("é.txt"))); o.Data["files"] != 1.0 {
		t.Errorf("all but one: %+v", o)
	}
}

// What cannot be seen in a new name or a new text is refused, or said. A file that would be binary is said to be.
func TestControlCharactersAreSaid(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	for _, name := range []string{"a\x00b", "a\x01b", "a\nb", "a\tb", "a\x7fb", "a\u0085b", "a/\x1b[31m/b"} {
		if o := b.op("write_file", args("path", name, "content", "x\n", "create_dirs", true)); o.code != tool.InvalidPath || !strings.Contains(o.Error, "NUL") && !strings.Contains(o.Error, "control character") {
			t.Errorf("%q: %+v", name, o)
		}
	}
	for i, c := range []struct{ name, text, encoding, note string }{
		{"plain", "a\tb\r\nc\n", "", ""},
		{"zero\u200bwidth", "x\n", "", "the name has characters that cannot be seen"},
		{"nul", "a\x00b\n", "", "has a NUL now"},
		{"escape", "\x1b[31m\n", "", "control characters"},
		{"pdf", "%PDF-1.4\n", "", "counts as binary"},
		{"wide", "hello\n", "utf-16le", "counts as binary"},
		{"marked", "\ufeffhello\n", "utf-16le", ""},
		{"gif", "GIF89a is a format\n", "", ""},
	} {
		o := b.op("write_file", args("path", c.name, "content", c.text, "encoding", c.encoding))
		notes, _ := o.Data["notes"].([]any)
		all := strings.Trim(strings.Join(strings.Fields(encode(notes)), " "), "[]")
		if !o.Success || c.note == "" && len(notes) > 0 || !strings.Contains(all, c.note) {
			t.Errorf("%d %s: %+v", i, c.name, o)
		}
		// It is what it is said to be.
		if o := b.op("read_file", args("path", c.name)); o.Success == strings.Contains(all, "binary") {
			t.Errorf("%s is read: %+v", c.name, o)
		}
	}
	// The advice can be followed.
	if o := b.op("read_file", args("path", "wide")); !strings.Contains(o.Error, "utf-16le without a byte-order mark; give its encoding by the argument encoding") {
		t.Errorf("%+v", o)
	}
	if o := b.op("read_file", args("path", "wide", "encoding", "utf-16le")); o.text() != "hello\n" {
		t.Errorf("%+v", o)
	}
	if o := b.op("search_text", args("pattern", "hello")); o.Data["matches"] != 1.0 || !strings.Contains(encode(o.Data["skipped_files"]), "wide: the file is binary; it seems to be utf-16le") {
		t.Errorf("%+v", o)
	}
}

// A line after the first of a file with CR alone is refused with the reason.
func TestLineOfCRFile(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("cr", "one\rtwo\r")
	for _, name := range []string{"Read", "read_file"} {
		if r := b.call(name, args("path", "cr", "start_line", 2)); r.Code != tool.InvalidArgument || !strings.Contains(r.Text, "carriage returns (CR) end no line here") {
			t.Errorf("%s: %s", name, r.Text)
		}
	}
}

// A repetition that is too large says so, and one that was searched for to the letter is named.
func TestRepetitions(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("a", "a.b\n")
	for _, p := range []string{"a{2000}", "(a{1000}){3}", "a{3,2}"} {
		if o := b.op("search_text", args("pattern", p, "regexp", true)); o.code != tool.InvalidArgument || !strings.Contains(o.Error, "more than 1000 in all") {
			t.Errorf("%s: %+v", p, o)
		}
	}
	for _, p := range []string{"a{2}", `\Qa.b\E`, `a{2,}`} {
		if o := b.op("search_text", args("pattern", p)); !strings.Contains(encode(o.Data["notes"]), "with regexp it is a regular expression") {
			t.Errorf("%s: %+v", p, o)
		}
	}
	if o := b.op("search_text", args("pattern", `\Qa.b\E`, "regexp", true)); o.Data["matches"] != 1.0 {
		t.Errorf("%+v", o)
	}
}

// A read without an encoding, after one with a wrong encoding, is what an edit means.
func TestEncodingOfTheLastRead(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("a", "one\ntwo\nthree\n")
	b.op("read_file", args("path", "a", "encoding", "utf-16"))
	b.op("read_file", args("path", "a"))
	o := b.op("edit_file", args("path", "a", "edits", []any{map[string]any{"old_text": "two", "new_text": "2"}}))
	if !o.Success || b.get("a") != "one\n2\nthree\n" {
		t.Errorf("%+v", o)
	}
	b.put("latin", "caf\xe9\n")
	b.op("read_file", args("path", "latin", "encoding", "latin1"))
	b.call("Read", args("path", "latin")) // shows it garbled
	o = b.op("edit_file", args("path", "latin", "edits", []any{map[string]any{"old_text": "café", "new_text": "thé"}}))
	if !o.Success || b.get("latin") != "th\xe9\n" {
		t.Errorf("%+v", o)
	}
}

// Forms of other programs that match nothing are refused, and an error shows only what was given.
func TestMoreFormsAreRefused(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("src/a.py", "x\n")
	for _, p := range []string{"!(a)", "(a)", `src\*.py`} {
		if o := b.op("find_files", args("pattern", p)); o.code != tool.InvalidArgument {
			t.Errorf("%s: %+v", p, o)
		}
	}
	if o := b.op("search_text", args("pattern", "(a", "regexp", true)); !strings.Contains(o.Error, "missing closing ): `(a`") {
		t.Errorf("%+v", o)
	}
}
