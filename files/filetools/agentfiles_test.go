package filetools

import (
	"os"
	"strings"
	"testing"

	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/files/workspace"
)

func (b *bench) seen(path string) freshness.File {
	b.t.Helper()
	f, ok := b.tools.Tracker(b.session).File(path, workspace.Stamp{})
	if !ok {
		b.t.Fatalf("%s was never seen", path)
	}
	return f
}

func (b *bench) changed(path string) (string, bool) {
	b.t.Helper()
	f := b.seen(path)
	now, err := b.tools.Look(b.t.Context(), path, f)
	if err != nil {
		b.t.Fatal(err)
	}
	if now.Gone {
		return "gone", true
	}
	text, whole, err := b.tools.Changed(b.t.Context(), b.session, f, now)
	if err != nil {
		b.t.Fatal(err)
	}
	return text, whole
}

// What another program changed in a file is shown as a diff. If no diff can be made, the text says so. (CTX-8)
func TestChanged(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("a.txt", "one\ntwo\nthree\n")
	b.call("read_file", `{"path":"a.txt"}`)
	if text, whole := b.changed("a.txt"); text != "" || !whole {
		t.Errorf("%q, %v", text, whole)
	}
	b.put("a.txt", "one\nTWO\nthree\n")
	if text, whole := b.changed("a.txt"); !strings.Contains(text, "-two\n+TWO\n") || !whole {
		t.Errorf("%q, %v", text, whole)
	}
	b.put("a.txt", strings.Repeat("another line\n", 10_000))
	if text, whole := b.changed("a.txt"); !strings.Contains(text, "long") || whole {
		t.Errorf("%.100q, %v", text, whole)
	}
	b.put("a.txt", "\x00\x01\x02\xff")
	if text, whole := b.changed("a.txt"); text != "What it is now cannot be shown: the file is binary." || whole {
		t.Errorf("%q, %v", text, whole)
	}
	if err := os.Remove(b.file("a.txt")); err != nil {
		t.Fatal(err)
	}
	if text, _ := b.changed("a.txt"); text != "gone" {
		t.Errorf("%q", text)
	}
}

// If the file is not UTF-8, the diff is shown in the encoding of read_file: the one of the file's byte-order mark, or the one
// with which the file was read. Bytes that are not valid in it are not shown. (FILE-16)
func TestChangedEncodings(t *testing.T) {
	utf16 := func(s string) string {
		out := "\xff\xfe"
		for _, r := range s {
			out += string([]byte{byte(r), byte(r >> 8)})
		}
		return out
	}
	b := newBench(t, Config{}, workspace.Options{})
	b.put("wide.txt", utf16("één\ntwo\n"))
	b.call("read_file", `{"path":"wide.txt"}`)
	b.put("wide.txt", utf16("één\ntwee\n"))
	if text, whole := b.changed("wide.txt"); !strings.Contains(text, " één\n-two\n+twee\n") || !whole {
		t.Errorf("%q, %v", text, whole)
	}
	b.put("old.txt", "caf\xe9\none\n")
	b.call("read_file", `{"path":"old.txt","encoding":"iso-8859-1"}`)
	b.put("old.txt", "caf\xe9\ntwo\n")
	if text, whole := b.changed("old.txt"); !strings.Contains(text, " café\n-one\n+two\n") || !whole {
		t.Errorf("%q, %v", text, whole)
	}
	if text, shown, err := b.tools.Show(t.Context(), b.session, b.seen("old.txt"), 100); text != "old.txt, lines 1-2 of 2:\ncafé\ntwo\n" || len(shown) != 1 || err != nil {
		t.Errorf("%q, %+v, %v", text, shown, err)
	}
	b.put("plain.txt", "plain\n")
	b.call("read_file", `{"path":"plain.txt"}`)
	b.put("plain.txt", "caf\xe9\n")
	if text, whole := b.changed("plain.txt"); text != "What it is now cannot be shown: the file is not valid utf-8." || whole {
		t.Errorf("%q, %v", text, whole)
	}
	b.put("odd.txt", "caf\xe9\n")
	b.call("Read", `{"path":"odd.txt"}`)
	b.put("odd.txt", "coffee\n")
	if text, whole := b.changed("odd.txt"); !strings.Contains(text, "read it again") || strings.Contains(text, "\xe9") || whole {
		t.Errorf("%q, %v", text, whole)
	}
}

// Show returns the current content of a file. If that is too long, it returns the lines that the session saw before. Show does
// not count as a read. (CTX-4)
func TestShow(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("a.txt", "one\ntwo\nthree\nfour\n")
	b.call("read_file", `{"path":"a.txt","start_line":2,"end_line":3}`)
	f := b.seen("a.txt")
	text, shown, err := b.tools.Show(t.Context(), b.session, f, 1000)
	if err != nil || text != "a.txt, lines 1-4 of 4:\none\ntwo\nthree\nfour\n" || len(shown) != 1 || shown[0].Lines != (freshness.Range{}) {
		t.Fatalf("%q, %+v, %v", text, shown, err)
	}
	if b.seen("a.txt").Whole {
		t.Error("to show is not to have shown")
	}
	text, shown, err = b.tools.Show(t.Context(), b.session, f, 12)
	if err != nil || text != "a.txt, lines 2-3 of 4:\ntwo\nthree\n\n" || len(shown) != 1 || shown[0].Lines != (freshness.Range{First: 2, Last: 3}) {
		t.Fatalf("%q, %+v, %v", text, shown, err)
	}
	b.put("a.txt", "one\ntwo\nthree\nfour\nfive\n")
	if text, _, err := b.tools.Show(t.Context(), b.session, f, 12); text != "" || err != nil {
		t.Fatalf("%q, %v", text, err)
	}
	b.put("b.bin", "\x00\x01")
	if text, _, err := b.tools.Show(t.Context(), b.session, freshness.File{Path: "b.bin"}, 100); text != "" || err == nil {
		t.Fatalf("%q, %v", text, err)
	}
}

// Files that git ignores, and hidden files, are not shown automatically. (CTX-9)
func TestIgnored(t *testing.T) {
	b := newBench(t, Config{Hidden: func(p string) bool { return p == "secret" }}, workspace.Options{})
	b.put(".gitignore", "out/\n")
	b.put("out/a", "x")
	b.put("a", "x")
	for path, want := range map[string]bool{"out/a": true, "secret": true, "a": false, "../a": true} {
		if got := b.tools.Ignored(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
