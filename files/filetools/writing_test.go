package filetools

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/tool"
)

// The content that a plan shows is the content that is written. (FILE-6, FILE-11)
func TestPlanSaysWhatIsWritten(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("a", "1\n")
	b.op("read_file", `{"path":"a"}`)
	p := b.plan("write_file", `{"path":"a","content":"2\n3\n"}`)
	if p.Done != nil || p.Path != "a" || p.Before != string(workspace.VersionOf([]byte("1\n"))) ||
		p.After != string(workspace.VersionOf([]byte("2\n3\n"))) || p.Size != 4 || string(p.Content) != "2\n3\n" || len(p.Notes) != 0 {
		t.Errorf("%+v", p)
	}
	if b.get("a") != "1\n" {
		t.Error("written by planning")
	}
	if _, err := p.Apply(t.Context()); err != nil || b.get("a") != "2\n3\n" {
		t.Error(err)
	}
	if p := b.plan("write_file", `{"path":"new","content":"x"}`); p.Before != "" {
		t.Errorf("%+v", p)
	}
}

// If a person edits the content before approving, the edited content is written, and the model is told. (FILE-6)
func TestEditedBeforeApproval(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("a", "1\n")
	b.op("read_file", `{"path":"a"}`)
	p := b.plan("write_file", `{"path":"a","content":"2\n"}`)
	p, err := p.Replan(t.Context(), []byte("3\n"))
	if err != nil || p.Done != nil || p.After != string(workspace.VersionOf([]byte("3\n"))) || p.Has(tool.Merged) {
		t.Fatalf("%+v %v", p, err)
	}
	r, err := p.Apply(t.Context())
	if err != nil || b.get("a") != "3\n" {
		t.Fatal(err)
	}
	o := decodeOp(t, r)
	if o.Data["asked_to_written"] != "--- asked\n+++ written\n@@ -1 +1 @@\n-2\n+3\n" || !strings.Contains(r.Text, "edited by a person") {
		t.Error(r.Text)
	}
	// The person edits the content, and another program has changed the file.
	p = b.plan("write_file", `{"path":"a","content":"4\n"}`)
	b.put("a", "5\n")
	if p, err = p.Replan(t.Context(), []byte("6\n")); err != nil || p.Done == nil || p.Done.Code != tool.ConcurrentModification {
		t.Errorf("%+v %v", p, err)
	}
}

// A file that another program changed counts as changed, even if its size and time are the same. (hazards)
func TestChangedWithEqualStamp(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("a", "one\n")
	b.op("read_file", `{"path":"a"}`)
	fi, _ := os.Stat(b.file("a"))
	b.put("a", "two\n")
	if err := os.Chtimes(b.file("a"), fi.ModTime(), fi.ModTime()); err != nil {
		t.Fatal(err)
	}
	if o := b.op("write_file", `{"path":"a","content":"ONE\n"}`); o.code != tool.ConcurrentModification {
		t.Errorf("%+v", o)
	}
}

// FILE-8, FILE-5: a call above a limit fails before a person is asked.
func TestTooLarge(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{WriteLimit: 100})
	b.put("a", strings.Repeat("x\n", 49)+"y\n")
	if p := b.plan("write_file", args("path", "b", "content", strings.Repeat("x", 101))); p.Done == nil || p.Done.Code != tool.FileTooLarge {
		t.Errorf("%+v", p)
	}
	if p := b.plan("edit_file", args("path", "a", "edits", []any{map[string]any{"old_text": "y", "new_text": "yy"}})); p.Done == nil || p.Done.Code != tool.FileTooLarge {
		t.Errorf("%+v", p)
	}
	if o := b.op("write_file", args("path", "b", "content", strings.Repeat("x", 100))); !o.Success {
		t.Errorf("%+v", o)
	}
}

// A file that is too large to be read whole can be replaced, and the write can be undone.
func TestReplaceLargeFile(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{ReadLimit: 100})
	b.put("a", strings.Repeat("x\n", 100))
	p := b.plan("write_file", `{"path":"a","content":"small\n"}`)
	if p.Done != nil || !p.Has(tool.Large) || !p.Has(tool.Unread) || !p.Diff.Empty() {
		t.Fatalf("%+v", p)
	}
	if _, err := p.Apply(t.Context()); err != nil || b.get("a") != "small\n" {
		t.Error(err)
	}
	if o := b.op("edit_file", `{"path":"a","edits":[{"old_text":"small","new_text":"s"}]}`); !o.Success {
		t.Errorf("%+v", o)
	}
}

// A missing permission is reported before a person is asked. (FILE-6, hazards)
func TestReadOnlyTarget(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("ro", "1\n")
	b.put("dir/a", "1\n")
	os.Chmod(b.file("ro"), 0o444)
	os.Chmod(b.file("dir"), 0o555)
	defer os.Chmod(b.file("dir"), 0o755)
	b.op("read_file", `{"path":"ro"}`)
	p := b.plan("write_file", `{"path":"ro","content":"2\n"}`)
	if os.Geteuid() == 0 {
		if p.Done != nil || !p.Has(tool.ReadOnly) {
			t.Errorf("%+v", p)
		}
		return
	}
	if p.Done == nil || p.Done.Code != tool.PermissionDenied {
		t.Errorf("%+v", p)
	}
	for _, name := range []string{"dir/a", "dir/new"} {
		if p := b.plan("write_file", args("path", name, "content", "2\n")); p.Done == nil || p.Done.Code != tool.PermissionDenied {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// If a directory is replaced by a link between plan and apply, nothing is written through the link. (hazards)
func TestSwappedForLink(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	outside := t.TempDir()
	b.put("dir/a", "1\n")
	if err := os.WriteFile(filepath.Join(outside, "a"), []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := b.plan("write_file", `{"path":"dir/a","content":"2\n"}`)
	if err := os.Rename(b.file("dir"), b.file("old")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, b.file("dir")); err != nil {
		t.Fatal(err)
	}
	r, err := p.Apply(t.Context())
	if err != nil || r.Code != tool.InvalidPath {
		t.Errorf("%+v %v", r, err)
	}
	if data, _ := os.ReadFile(filepath.Join(outside, "a")); string(data) != "1\n" {
		t.Error("written outside")
	}
}

// If a link points elsewhere after the plan, the approved content is written to the approved file, or nothing is written.
func TestLinkPointedElsewhere(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("a", "1\n")
	b.put(".envrc", "1\n")
	b.other("ln soft a")
	p := b.plan("write_file", `{"path":"soft","content":"2\n"}`)
	b.other("rm soft")
	b.other("ln soft .envrc")
	if _, err := p.Apply(t.Context()); err != nil || b.get("a") != "2\n" || b.get(".envrc") != "1\n" {
		t.Error(err, b.get("a"), b.get(".envrc"))
	}
}

// If several sessions edit one tree at the same time, no edit is lost. (hazards, FILE-15)
func TestConcurrentEdits(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	const sessions, edits = 4, 25
	var text strings.Builder
	for s := range sessions {
		for e := range edits {
			fmt.Fprintf(&text, "line %d.%d.\n\n\n\n", s, e)
		}
	}
	b.put("a", text.String())
	x, _ := b.set.Get("edit_file")
	var wg sync.WaitGroup
	for s := range sessions {
		wg.Go(func() {
			for e := range edits {
				old := fmt.Sprintf("line %d.%d.", s, e)
				c := tool.Call{Session: fmt.Sprint(s), Name: "edit_file", Arguments: json.RawMessage(args("path", "a", "edits", []any{map[string]any{"old_text": old, "new_text": old + "done"}}))}
				p, err := x.Plan(t.Context(), c)
				for {
					if err != nil || p.Done != nil {
						t.Errorf("%s: %+v %v", old, p, err)
						return
					}
					var r tool.Result
					if r, err = p.Apply(t.Context()); err == nil {
						if r.Failed() {
							t.Error(r.Text)
						}
						break
					}
					if !errors.Is(err, tool.ErrChanged) {
						t.Error(err)
						return
					}
					p, err = p.Replan(t.Context(), p.Content)
				}
			}
		})
	}
	wg.Wait()
	if n := strings.Count(b.get("a"), "done"); n != sessions*edits {
		t.Errorf("%d of %d edits are there", n, sessions*edits)
	}
}

var writable = []string{"utf-8", "utf-16", "utf-16le", "utf-16be", "utf-32", "iso-8859-1", "windows-1252", "koi8-r", "shift_jis", "gbk", "gb18030", "euc-jp", "euc-kr", "big5", "iso-2022-jp"}

// Bytes outside of an edit never change, in any encoding and with any line ends. (FILE-14, FILE-16, hazards)
func TestBytesOutsideTheEditStay(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	alphabets := map[string]string{"koi8-r": "абвж", "shift_jis": "テスト表ソ", "euc-jp": "日本表", "iso-2022-jp": "日本", "gbk": "你好誰", "gb18030": "你好𠀀é", "big5": "許功蓋", "euc-kr": "한글", "iso-8859-1": "éèü", "windows-1252": "é€"}
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		name := rapid.SampledFrom(writable).Draw(t, "encoding")
		enc, err := workspace.FindEncoding(name)
		if err != nil {
			t.Fatal(err)
		}
		letters := alphabets[name]
		if letters == "" {
			letters = "é日𝒳"
		}
		line := rapid.Custom(func(t *rapid.T) string {
			var s strings.Builder
			for range rapid.IntRange(0, 8).Draw(t, "letters") {
				s.WriteRune(rapid.SampledFrom([]rune("ab \\|~"[:4]+letters)).Draw(t, "letter"))
			}
			return s.String() + rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")
		})
		before := strings.Join(rapid.SliceOfN(line, 0, 6).Draw(t, "before"), "")
		after := strings.Join(rapid.SliceOfN(line, 0, 6).Draw(t, "after"), "")
		old, now := "<<OLD>>", "<<"+rapid.StringOfN(rapid.RuneFrom([]rune("xy\n"+letters)), 1, 9, -1).Draw(t, "new")+">>"
		head, err1 := enc.Encode(before)
		middle, err2 := enc.WithBOM(false).Encode(old)
		tail, err3 := enc.WithBOM(false).Encode(after)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		file := fmt.Sprintf("f%d", n)
		b.put(file, string(head)+string(middle)+string(tail))
		a := args("path", file, "encoding", name, "edits", []any{map[string]any{"old_text": old, "new_text": now}})
		o := b.op("edit_file", a)
		if !o.Success {
			t.Fatalf("%s: %s", name, o.Error)
		}
		got := b.get(file)
		if !strings.HasPrefix(got, string(head)) || !strings.HasSuffix(got, string(tail)) {
			t.Fatalf("%s: %q + %q + %q became %q", name, head, middle, tail, got)
		}
		inside, _, err := enc.WithBOM(false).Decode([]byte(got[len(head) : len(got)-len(tail)]))
		if err != nil || strings.ReplaceAll(inside, "\r\n", "\n") != now {
			t.Fatalf("%s: wrote %q for %q, %v", name, inside, now, err)
		}
		if o := b.op("undo", args("all", true)); !o.Success || b.get(file) != string(head)+string(middle)+string(tail) {
			t.Fatalf("undone: %+v", o)
		}
	})
}

// Some bytes would be encoded differently if the whole file was written again. They stay where no edit is. (FILE-16)
func TestOddBytesStay(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	// One character has two codes: one by NEC, and one by IBM.
	odd := "\xfa\x54 IBM\r\n"
	b.put("a", odd+"x\n"+odd)
	if o := b.op("edit_file", args("path", "a", "encoding", "shift_jis", "edits", []any{map[string]any{"old_text": "x", "new_text": "表"}})); !o.Success {
		t.Fatalf("%+v", o)
	}
	if got := b.get("a"); got != odd+"\x95\x5c\n"+odd {
		t.Errorf("%q", got)
	}
	// In a line that has them too.
	o := b.op("edit_file", args("path", "a", "edits", []any{map[string]any{"old_text": "IBM", "new_text": "x", "all": true}}))
	if want := strings.ReplaceAll(odd, "IBM", "x"); !o.Success || b.get("a") != want+"\x95\x5c\n"+want || o.Data["encoding"] != "shift_jis" {
		t.Errorf("%+v %q", o, b.get("a"))
	}
}

// FILE-16: where a character has two forms in bytes, or escape sequences give bytes their meaning, an edit, a merge and a new whole
// text change no byte of the characters that stay.
func TestNoByteOutsideTheEditChanges(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	const esc = "\x1b"
	for i, c := range []struct{ enc, file, old, new, want string }{
		{"cp932", "\x81\xca \xee\xf9 \xfa\x54 A \xfa\x5b\n", "A", "B", "\x81\xca \xee\xf9 \xfa\x54 B \xfa\x5b\n"},
		{"cp932", "\xfa\x54\x81\xca\n", "\uffe2\n", "\uffe2.\n", "\xfa\x54\x81\xca.\n"}, // the first one is the same character
		{"euc-jp", "\xad\xe2 A\xfc\xe2 \x8f\xa2\xb7\n", "A", "表", "\xad\xe2 \xc9\xbd\xfc\xe2 \x8f\xa2\xb7\n"},
		{"big5", "\xa2\xcc\xa4\xdd A \xa1\xc3\n", "A", "許", "\xa2\xcc\xa4\xdd \xb3\x5c \xa1\xc3\n"},
		{"big5", "\x88\x62A\xa1\xa4\n", "A", "", "\x88\x62\xa1\xa4\n"}, // two characters for one sequence
		{"gbk", "\x80 A \xa2\xe3\n", "A", "你", "\x80 \xc4\xe3 \xa2\xe3\n"},
		{"gb18030", "\x80\xa2\xe3A\xa8\xbf\n", "A", "𠀀", "\x80\xa2\xe3\x95\x32\x82\x36\xa8\xbf\n"},
		{"euc-kr", "\xb0\xa1A\x81\x41\n", "A", "나", "\xb0\xa1\xb3\xaa\x81\x41\n"},
		{"iso-2022-jp", esc + "$@F|" + esc + "(Jx A" + esc + "$BF|" + esc + "(B\n", "x A", "本", esc + "$@F|" + esc + "$BK\\F|" + esc + "(B\n"},
		{"iso-2022-jp", "a" + esc + "$BF|K\\8l" + esc + "(B" + esc + "(Jb\n", "本", "日", "a" + esc + "$BF|F|8l" + esc + "(B" + esc + "(Jb\n"},
		{"iso-2022-jp", "a" + esc + "$BF|K\\8l" + esc + "(Bb\n", "本", "x", "a" + esc + "$BF|" + esc + "(Bx" + esc + "$B8l" + esc + "(Bb\n"},
		{"iso-2022-jp", "a" + esc + "$BF|K\\8l" + esc + "(Bb\n", "日本語", "x", "axb\n"},
		{"iso-2022-jp", "a" + esc + "$BF|K\\8l" + esc + "(Bb\n", "a日", "日a", esc + "$BF|" + esc + "(Ba" + esc + "$BK\\8l" + esc + "(Bb\n"},
		{"iso-2022-jp", "a" + esc + "$BF|" + esc + "(B" + esc + "$BK\\" + esc + "(Bb\n", "b", "c", "a" + esc + "$BF|" + esc + "(B" + esc + "$BK\\" + esc + "(Bc\n"},
		{"iso-2022-jp", esc + "$BF|" + esc + "(B" + esc + "(BA" + esc + "(B" + esc + "$BF|" + esc + "(B\n", "A", "b", esc + "$BF|" + esc + "(B" + esc + "(Bb" + esc + "(B" + esc + "$BF|" + esc + "(B\n"},
		{"iso-2022-jp", esc + "$BF|" + esc + "(BA" + esc + "$BF|" + esc + "(B\n", "A", "", esc + "$BF|" + esc + "(B" + esc + "$BF|" + esc + "(B\n"},
		{"hz-gb-2312", "~{<:~}A~{Ky~}\n", "A", "", "~{<:~}~{Ky~}\n"},
		{"hz-gb-2312", "~~{a~{<:Ky~}b~{2;~}\n", "b", "~己", "~~{a~{<:Ky~}~~~{<:2;~}\n"},
		{"hz-gb-2312", "~{<:~}~{Ky~}b\n", "b", "c", "~{<:~}~{Ky~}c\n"},
		{"hz-gb-2312", "~{<:Ky2;~}\n", "所", "a", "~{<:~}a~{2;~}\n"},
		{"ibm037", "\xc1\x15\xc2\x25", "A", "C", "\xc3\x15\xc2\x25"},
	} {
		for _, how := range []string{"edit", "merge", "whole"} {
			name, tail := fmt.Sprintf("%d%s", i, how), ""
			if how == "merge" {
				tail = "\n\nend\n"
			}
			b.put(name, c.file+tail)
			o := b.op("read_file", args("path", name, "encoding", c.enc))
			if !o.Success {
				t.Fatalf("%s: %+v", c.enc, o)
			}
			call, a := "edit_file", args("path", name, "edits", []any{map[string]any{"old_text": c.old, "new_text": c.new}})
			switch how {
			case "merge":
				if c.enc == "ibm037" {
					continue
				}
				tail = "\n\nEND\n"
				b.put(name, c.file+tail)
			case "whole":
				call, a = "write_file", args("path", name, "content", strings.Replace(o.text(), c.old, c.new, 1))
			}
			if how == "whole" && c.old == "\uffe2\n" {
				a = args("path", name, "content", strings.TrimSuffix(o.text(), "\n")+".\n")
			}
			if o = b.op(call, a); !o.Success || b.get(name) != c.want+tail {
				t.Errorf("%s of %q in %s: %s, %q, want %q", how, c.file, c.enc, o.Error, b.get(name), c.want+tail)
			}
		}
	}
}

// FILE-12: after the retention time, undo says that the content is not kept.
func TestUndoPastRetention(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("a", "1\n")
	b.op("write_file", `{"path":"a","content":"2\n"}`)
	if err := os.RemoveAll(filepath.Join(b.state, "kept")); err != nil {
		t.Fatal(err)
	}
	if o := b.op("undo", `{"all":true}`); !strings.Contains(o.Error, "past the retention") || b.get("a") != "2\n" {
		t.Errorf("%+v", o)
	}
}

// An undo of several files changes all of them or none. (FILE-12)
func TestUndoAllOrNone(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("dir/a", "1\n")
	b.op("write_file", `{"path":"dir/a","content":"2\n"}`)
	b.op("write_file", `{"path":"dir/sub/b","content":"b\n","create_dirs":true}`)
	b.op("write_file", `{"path":"dir/c","content":"c\n"}`)
	p := b.plan("undo", `{"all":true}`)
	if p.Path != "dir" || len(p.Files) != 3 || p.Files[1] != (tool.File{Path: "dir/sub/b", Before: string(workspace.VersionOf([]byte("b\n")))}) {
		t.Errorf("%+v", p)
	}
	b.put("dir/c", "changed\n")
	if _, err := p.Apply(t.Context()); !errors.Is(err, tool.ErrChanged) {
		t.Errorf("%v", err)
	}
	if b.get("dir/a") != "2\n" || b.get("dir/sub/b") != "b\n" || b.get("dir/c") != "changed\n" {
		t.Error("some files were undone")
	}
	if p, err := p.Replan(t.Context(), nil); err != nil || p.Done == nil || p.Done.Code != tool.ConcurrentModification {
		t.Errorf("%+v %v", p, err)
	}
}

// Writes that the caller names can be undone too.
func TestPlanUndo(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("a", "1\n")
	b.op("write_file", `{"path":"a","content":"2\n"}`)
	b.op("edit_file", `{"path":"a","edits":[{"old_text":"2","new_text":"3"}]}`)
	writes := b.tools.session("one").pastWrites()
	b.tools.End("one")
	p, err := b.tools.planUndoOf(t.Context(), tool.Call{Session: "later", Name: "undo"}, writes)
	if err != nil || p.Done != nil {
		t.Fatalf("%+v %v", p, err)
	}
	if r, err := p.Apply(t.Context()); err != nil || r.Failed() || b.get("a") != "1\n" {
		t.Errorf("%+v %v", r, err)
	}
	if p, err = b.tools.planUndoOf(t.Context(), tool.Call{Session: "later", Name: "undo"}, writes); err != nil || p.Done == nil || !p.Done.Failed() {
		t.Errorf("%+v %v", p, err)
	}
}

// No temporary files remain.
func TestNoTemporaryFilesRemain(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	for i := range 5 {
		b.op("write_file", args("path", "a", "content", fmt.Sprint(i)))
	}
	b.op("undo", `{"all":true}`)
	_ = filepath.WalkDir(b.dir, func(p string, d fs.DirEntry, err error) error {
		if !d.IsDir() {
			t.Error(p)
		}
		return err
	})
}

// The session takes the time of an edit from Config.Now.
func TestTimeOfAnEdit(t *testing.T) {
	now := time.Unix(1000, 0)
	b := newBench(t, Config{Now: func() time.Time { return now }}, workspace.Options{})
	b.put("a", "1\n")
	b.op("read_file", `{"path":"a"}`)
	b.op("write_file", `{"path":"a","content":"2\n"}`)
	f, ok := b.tools.Tracker("one").File("a", workspace.Stamp{})
	if !ok || !f.EditedAt.Equal(now) || f.Conflict() {
		t.Errorf("%+v", f)
	}
}

// Another program wrote the same content before the plan was applied. That write is not recorded as stet's own, so undo does not
// remove it. (FILE-12, FILE-15)
func TestWrittenByAnotherProgram(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	p := b.plan("write_file", args("path", "a", "content", "the same\n"))
	b.put("a", "the same\n")
	if _, err := p.Apply(t.Context()); !errors.Is(err, tool.ErrChanged) {
		t.Fatalf("%v, want %v", err, tool.ErrChanged)
	}
	if w := b.tools.session("").pastWrites(); len(w) != 0 {
		t.Errorf("recorded as ours: %+v", w)
	}
}

// A file keeps its encoding and byte-order mark, unless a write asks for another encoding. Then the plan says so. (FILE-6,
// FILE-16)
func TestEncodingIsKept(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	bom := "\xef\xbb\xbfh\xc3\xa9llo\nx\n"
	b.put("bom", bom)
	b.call("read_file", args("path", "bom", "encoding", "gbk"))
	b.call("edit_file", `{"path":"bom","edits":[{"old_text":"x","new_text":"中"}]}`)
	if got, want := b.get("bom"), strings.Replace(bom, "x", "中", 1); got != want {
		t.Errorf("after the edit %q, want %q", got, want)
	}
	b.call("edit_file", `{"path":"bom","encoding":"iso-8859-1","edits":[{"old_text":"中","new_text":"y"}]}`)
	if got, want := b.get("bom"), strings.Replace(bom, "x", "y", 1); got != want {
		t.Errorf("after an edit that names an encoding %q, want %q", got, want)
	}
	b.put("even", "h\xc3\xa9\n")
	p := b.plan("write_file", args("path", "even", "content", "hé\n", "encoding", "utf-16"))
	if p.Done != nil || !p.Has(tool.Reencoded) {
		t.Fatalf("%+v: the plan does not say it", p)
	}
	if _, err := p.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := b.get("even"); !strings.HasPrefix(got, "\xff\xfe") && !strings.HasPrefix(got, "\xfe\xff") {
		t.Errorf("%q has no byte-order mark", got)
	}
}
