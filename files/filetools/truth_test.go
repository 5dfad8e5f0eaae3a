package filetools

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/tool"
)

// FILE-15: the agent writes back what it last saw, or wrote. Another program has changed the file meanwhile, before the call or
// while a person looks at the difference. The call ends with concurrent_modification, and the other program's work stays.
func TestWriteBackOfWhatWasSeen(t *testing.T) {
	texts := map[string]string{"empty": "", "blank": " \n", "lines": "1\n2\n", "more": "0\n1\n2\n3\n", "crlf": "1\r\n2\r\n", "marked": "\ufeff1\n2\n"}
	for saw, mine := range texts {
		for holds, theirs := range texts {
			for _, how := range []string{"read", "part", "wrote", "asked"} {
				b := newBench(t, Config{}, workspace.Options{})
				asks := 0
				h := &approval.Handler{Tools: &b.set, Rate: -1, Approver: person(func(approval.Question) approval.Answer {
					if asks++; how == "asked" && asks == 1 {
						b.put("a", theirs)
					}
					return approval.Answer{Verdict: approval.Approve}
				})}
				call := func(name, args string) opResult {
					t.Helper()
					r, err := h.Call(t.Context(), tool.Call{Session: "one", Name: name, Arguments: json.RawMessage(args)})
					if err != nil {
						t.Fatal(err)
					}
					return decodeOp(t, r)
				}
				want := mine
				switch b.put("a", mine); how {
				case "read":
					call("read_file", args("path", "a"))
				case "part":
					call("read_file", args("path", "a", "start_line", 1, "end_line", 1))
				case "wrote":
					b.put("a", "old\n")
					call("write_file", args("path", "a", "content", mine))
				case "asked": // what is approved is what the person's file holds when the question is made, plus a line
					want = mine + "9\n"
					call("read_file", args("path", "a"))
				}
				if how != "asked" {
					b.put("a", theirs)
				}
				o := call("write_file", args("path", "a", "content", want))
				got := b.get("a")
				name := fmt.Sprintf("%s: %s, the file holds %s", how, saw, holds)
				switch {
				case !o.Success && (o.code != tool.ConcurrentModification || got != theirs):
					t.Errorf("%s: %+v, %q", name, o, got)
				case o.Success && unify(got) != unify(want) && o.Data["asked_to_written"] == nil:
					t.Errorf("%s: %+v, though it holds %q", name, o, got)
				case o.Success && *o.BytesWritten == 0 && unify(got) != unify(want):
					t.Errorf("%s: nothing written: %+v, %q", name, o, got)
				}
			}
		}
	}
}

// unify returns the text without what a file keeps of its own: line ends and a byte-order mark.
func unify(s string) string {
	return strings.ReplaceAll(strings.TrimPrefix(s, "\ufeff"), "\r\n", "\n")
}

// FILE-15: whatever the session saw, what the file holds, and what is written: a write says that it is done only if the file holds
// what was asked for, or the result shows the difference and something was written. The same holds for an edit, after which the
// file holds the new text.
func TestSuccessIsTrue(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	text := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n", " \n", "a\r\n", "d"}), 0, 5), func(l []string) string { return strings.Join(l, "") })
	rapid.Check(t, func(t *rapid.T) {
		saw, holds, mine, late := text.Draw(t, "saw"), text.Draw(t, "holds"), text.Draw(t, "mine"), text.Draw(t, "late")
		edit := rapid.Bool().Draw(t, "edit")
		b.put("f", saw)
		b.op("read_file", args("path", "f"))
		b.put("f", holds)
		if rapid.Bool().Draw(t, "in between") {
			b.between = func() { b.put("f", late) }
		}
		tool, a := "write_file", args("path", "f", "content", mine)
		if edit {
			b.put("f", "NEW")
			tool, a = "edit_file", args("path", "f", "edits", []any{map[string]any{"old_text": "a\nb", "new_text": "NEW"}})
			b.put("f", holds)
		}
		o := b.op(tool, a)
		b.between = nil
		got := b.get("f")
		switch {
		case !o.Success:
		case edit && !strings.Contains(got, "NEW"):
			t.Fatalf("%+v, though it holds %q", o, got)
		case edit:
		case unify(got) != unify(mine) && (o.Data["asked_to_written"] == nil || *o.BytesWritten == 0):
			t.Fatalf("%+v, though it holds %q", o, got)
		}
		b.tools.End(b.session)
	})
}

// FILE-12: an undo whose work another program has done says so, and records nothing.
func TestUndoThatWasDone(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("a", "1\n")
	b.op("write_file", `{"path":"a","content":"2\n"}`)
	b.between = func() { b.put("a", "1\n") }
	if o := b.op("undo", `{"write":1}`); o.code != tool.ConcurrentModification || b.get("a") != "1\n" {
		t.Errorf("%+v", o)
	}
	b.put("a", "2\n")
	if o := b.op("undo", `{"write":1}`); !o.Success || b.get("a") != "1\n" {
		t.Errorf("%+v", o)
	}
	if o := b.op("undo", `{"write":2}`); !o.Success || b.get("a") != "2\n" {
		t.Errorf("%+v", o)
	}
	_ = os.Remove(b.file("a"))
	if o := b.op("undo", `{"write":3}`); o.code != tool.ConcurrentModification {
		t.Errorf("%+v", o)
	}
}

// FILE-16: a text that begins with U+FEFF makes no second byte-order mark, in any encoding, however it is written. An encoding
// that has no mark refuses it.
func TestOneByteOrderMark(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	for name, mark := range map[string]string{
		"utf-8": "\xef\xbb\xbf", "utf-8-sig": "\xef\xbb\xbf", "utf-16": "\xff\xfe", "utf-16le": "\xff\xfe", "utf-16be": "\xfe\xff",
		"utf-32": "\xff\xfe\x00\x00", "utf-32le": "\xff\xfe\x00\x00", "utf-32be": "\x00\x00\xfe\xff", "gb18030": "\x84\x31\x95\x33", "cp932": "", "latin1": "",
	} {
		enc, err := workspace.FindEncoding(name)
		if err != nil {
			t.Fatal(err)
		}
		bytes := func(mark, s string) string {
			data, err := enc.WithBOM(false).Encode(s)
			if err != nil {
				t.Fatal(err)
			}
			return mark + string(data)
		}
		check := func(how string, o opResult, file, want string) {
			t.Helper()
			switch got := b.get(file); {
			case mark == "" && o.code != tool.EncodingError:
				t.Errorf("%s in %s: %+v", how, name, o)
			case mark != "" && (!o.Success || got != want):
				t.Errorf("%s in %s: %+v, %q, want %q", how, name, o, got, want)
			}
		}
		edits := func(old, now string) []any { return []any{map[string]any{"old_text": old, "new_text": now}} }
		check("create", b.op("write_file", args("path", name, "encoding", name, "content", "\ufeff1\n")), name, bytes(mark, "1\n"))
		b.put(name, bytes(mark, "1\n2\n\n3\n"))
		b.op("read_file", args("path", name, "encoding", name))
		check("write", b.op("write_file", args("path", name, "content", "\ufeff1\n2\n\n4\n")), name, bytes(mark, "1\n2\n\n4\n"))
		if mark == "" {
			continue
		}
		b.put(name, bytes(mark, "0\n2\n\n4\n"))
		check("merge", b.op("write_file", args("path", name, "content", "\ufeff1\n2\n\n5\n")), name, bytes(mark, "0\n2\n\n5\n"))
		check("edit", b.op("edit_file", args("path", name, "edits", edits("0\n", "\ufeff1\n"))), name, bytes(mark, "1\n2\n\n5\n"))
		check("edit of the mark", b.op("edit_file", args("path", name, "edits", edits("\ufeff1\n", "\ufeff3\n"))), name, bytes(mark, "3\n2\n\n5\n"))
		plain := name + " plain"
		b.put(plain, bytes("", "1\n"))
		check("mark added", b.op("write_file", args("path", plain, "encoding", name, "content", "\ufeff2\n")), plain, bytes(mark, "2\n"))
		p := b.plan("write_file", args("path", plain, "content", "3\n"))
		if p, err = p.Replan(t.Context(), []byte("\ufeff4\n")); err != nil || p.Done != nil {
			t.Fatalf("%+v, %v", p, err)
		}
		r, err := p.Apply(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		check("a person's text", decodeOp(t, r), plain, bytes(mark, "4\n"))
		if name == "utf-8" { // a file that has two keeps them in an edit
			b.put(plain, mark+mark+"1\n2\n")
			check("two marks", b.op("edit_file", args("path", plain, "edits", edits("2", "3"))), plain, mark+mark+"1\n3\n")
		}
	}
}
