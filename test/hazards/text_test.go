package hazards

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func sized(t testing.TB, w *world, name string, size int64, head string) {
	t.Helper()
	w.put(name, head)
	if err := os.Truncate(w.abs(name), size); err != nil {
		t.Skip("no sparse file of that size:", err)
	}
}

// Row: binary, PNG, invalid UTF-8, UTF-16 with BOM, GBK, Shift-JIS, Latin-1.
func TestEncodings(t *testing.T) {
	w := newWorld(t)
	for name, data := range map[string]string{
		"png": "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "bin": "a\x00b\x00\x01", "bad": "ok\xff\xfeno\n", "latin1": "caf\xe9\n",
		"gbk": "\xc4\xe3\xba\xc3\n", "sjis": "\x93\xfa\x96\x7b\n", "utf16": "\xff\xfeh\x00i\x00\n\x00", "utf16be": "\xfe\xff\x00h\x00i\x00\n", "bom": "\xef\xbb\xbfhi\n",
	} {
		w.put(name, data)
	}
	a := w.agent()
	for _, name := range []string{"png", "bin"} {
		a.fails("binary_file", "read_file", args{"path": name})
		a.fails("BINARY_FILE", "Read", args{"path": name})
	}
	for _, name := range []string{"bad", "latin1", "gbk", "sjis"} {
		a.fails("encoding_error", "read_file", args{"path": name})
		if r := a.works("Read", args{"path": name}); r.Status != "partial" || r.Data.Fallback != "replace" || !strings.Contains(r.Data.Content, "\ufffd") {
			t.Errorf("%s: %s", name, r.raw)
		}
	}
	for _, c := range [][3]string{{"latin1", "iso-8859-1", "café\n"}, {"gbk", "gbk", "你好\n"}, {"sjis", "shift_jis", "日本\n"}} {
		if r := a.works("read_file", args{"path": c[0], "encoding": c[1]}); r.Content != c[2] {
			t.Errorf("%v: %s", c, r.raw)
		}
	}
	for _, name := range []string{"utf16", "utf16be", "bom"} {
		if r := a.works("read_file", args{"path": name}); strings.TrimPrefix(r.Content, "\ufeff") != "hi\n" {
			t.Errorf("%s: %s", name, r.raw)
		}
	}
}

// Row: an edit of such a file, or of one with CRLF, mixed line ends, a BOM, or no final newline: bytes outside of the edit never
// change.
func TestBytesOutsideTheEdit(t *testing.T) {
	w := newWorld(t)
	for i, c := range []struct{ before, after, old, new, encoding string }{
		{"a\r\nb\r\nc\r\n", "a\r\nx\r\ny\r\nc\r\n", "b", "x\ny", ""},
		{"a\nb\r\nc\rd\n", "a\nX\r\nc\rd\n", "b", "X", ""},
		{"\xef\xbb\xbfa\nb", "\xef\xbb\xbfa\nX", "b", "X", ""},
		{"\xff\xfea\x00\n\x00b\x00", "\xff\xfea\x00\n\x00X\x00", "b", "X", ""},
		{"caf\xe9\nb\n", "caf\xe9\nX\xe9\n", "b", "Xé", "iso-8859-1"},
		{"\xc4\xe3\nb\n", "\xc4\xe3\n\xba\xc3\n", "b", "好", "gbk"},
		{"e\u0301\nb\u00e9\n", "e\u0301\nX\u00e9\n", "b", "X", ""},
	} {
		name := fmt.Sprint("f", i)
		w.put(name, c.before)
		a := w.agent()
		v, r := args{"path": name, "edits": edits(c.old, c.new)}, args{"path": name}
		if c.encoding != "" {
			v["encoding"], r["encoding"] = c.encoding, c.encoding
		}
		a.works("read_file", r)
		a.works("edit_file", v)
		if got := w.get(name); got != c.after {
			t.Errorf("%d: %q, want %q", i, got, c.after)
		}
	}
	// If the file's encoding cannot represent a text, that is an error, and no replacement is written.
	w.put("latin", "caf\xe9\n")
	a := w.agent()
	a.works("read_file", args{"path": "latin", "encoding": "iso-8859-1"})
	a.fails("encoding_error", "edit_file", args{"path": "latin", "encoding": "iso-8859-1", "edits": edits("caf", "你")})
	if w.get("latin") != "caf\xe9\n" {
		t.Error("written")
	}
}

// Row: an empty file, and a file with more lines than shown: the result says so, with the number of the next line.
func TestEmptyAndMore(t *testing.T) {
	w := newWorld(t)
	w.put("empty", "")
	w.put("many", strings.Repeat("line\n", 1200))
	a := w.agent()
	if r := a.works("Read", args{"path": "empty"}); !strings.Contains(r.Text, "empty") {
		t.Errorf("%s", r.raw)
	}
	next := 1
	for _, last := range []int{500, 1000} {
		r := a.works("Read", args{"path": "many", "start_line": next})
		next = last + 1
		if !strings.Contains(r.Text, fmt.Sprintf("start_line=%d ", next)) || !strings.Contains(r.Text, "1200") {
			t.Errorf("%s", r.Text)
		}
	}
	if r := a.works("Read", args{"path": "many", "start_line": next}); r.Status != "success" || strings.Contains(r.Text, "Truncated") {
		t.Errorf("%s", r.Text)
	}
	a.fails("INVALID_PARAM", "Read", args{"path": "many", "start_line": 1201})
}

// Row: one line of 10 MB is cut. The result says so, and says how to read on.
func TestLongLine(t *testing.T) {
	w := newWorld(t)
	w.put("line", strings.Repeat("0123456789", 1<<20))
	a := w.agent()
	r := a.works("Read", args{"path": "line"})
	var line, column int
	_, after, _ := strings.Cut(r.Text, "Use ")
	if _, err := fmt.Sscanf(after, "start_line=%d and start_column=%d", &line, &column); err != nil || line != 1 || column < 100 || len(r.raw) > 1<<20 {
		t.Fatalf("%d bytes, %q", len(r.raw), r.Text)
	}
	r = a.works("Read", args{"path": "line", "start_line": 1, "start_column": column})
	if want := "    1 | " + fmt.Sprint((column-1)%10); !strings.HasPrefix(strings.TrimLeft(r.Data.Content, " "), strings.TrimLeft(want, " ")) {
		t.Errorf("%.60q, want %q", r.Data.Content, want)
	}
	a.works("search_text", args{"pattern": "789012"})
}

// Row: a page of a file of 500 MB, or of a sparse file of terabytes, needs bounded memory.
func TestHugeFiles(t *testing.T) {
	w := newWorld(t)
	sized(t, w, "tera", 1<<40, "first\nsecond\n"+strings.Repeat("and so on\n", 100_000))
	sized(t, w, "hole", 1<<40, "")
	var block bytes.Buffer
	for block.Len() < 1<<20 {
		block.WriteString("a line of the large file, which is 60 bytes and a little\n")
	}
	f, err := os.Create(w.abs("large"))
	if err != nil {
		t.Fatal(err)
	}
	n := 64
	if soak() {
		n = 500
	}
	for range n {
		if _, err := f.Write(block.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	lines := n * bytes.Count(block.Bytes(), []byte("\n"))
	a := w.agent()
	if r := a.works("read_file", args{"path": "tera", "start_line": 1, "end_line": 2}); r.Content != "first\nsecond\n" {
		t.Errorf("%.300s", r.raw)
	}
	a.fails("file_too_large", "read_file", args{"path": "tera"})
	a.fails("BINARY_FILE", "Read", args{"path": "hole"})
	a.fails("file_too_large", "read_file", args{"path": "large"})
	if r := a.works("read_file", args{"path": "large", "start_line": lines - 100, "end_line": lines - 51}); strings.Count(r.Content, "\n") != 50 {
		t.Errorf("%.300s", r.raw)
	}
	a.works("Read", args{"path": "tera", "limit": 2})
	a.works("search_text", args{"pattern": "nowhere"})
	a.works("file_info", args{"path": "tera"})
	f, err = os.OpenFile(w.abs("tera"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("FIRST"), 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	a.works("file_info", args{"path": "tera"}) // the session saw the file before, and the file has changed
	a.works("Read", args{"path": "tera", "limit": 2})
	a.fails("file_too_large", "write_file", args{"path": "tera", "content": "x"})
	a.fails("file_too_large", "edit_file", args{"path": "tera", "edits": edits("first", "x")})
	if r := a.do("write_file", args{"path": "large", "content": "x"}); r.ok() {
		t.Errorf("what was never read is overwritten: %s", r.raw)
	}
	if most, ok := peak(a.cmd.Process.Pid); ok && most > 100<<10 {
		t.Errorf("%d KB of memory", most)
	}
}

// Row: a write above the limit of FILE-8 fails before a person is asked.
func TestTooMuchToWrite(t *testing.T) {
	w := newWorld(t)
	a := w.agent()
	a.fails("file_too_large", "write_file", args{"path": "big", "content": strings.Repeat("x", 5<<20+1)})
	w.missing("big")
	a.works("write_file", args{"path": "big", "content": strings.Repeat("x", 5<<20)})
}

// peak returns the most memory that a process has used, in KB.
func peak(pid int) (int, bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(status)) {
		var kb int
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kb); err == nil {
			return kb, true
		}
	}
	return 0, false
}

// Row: a file is deleted, truncated or rewritten during a read: the read shows one version of it, or says that it does not. An
// edit based on a mixed read is refused.
func TestChangedWhileRead(t *testing.T) {
	w := newWorld(t)
	version := func(c byte) string { return strings.Repeat(strings.Repeat(string(c), 63)+"\n", 4096) }
	texts := []string{version('a'), version('b'), ""}
	w.put("f", texts[0])
	a := w.agent()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if i%5 == 4 {
				_ = os.Remove(w.abs("f")) // the next write makes it again
			}
			_ = os.WriteFile(w.abs("f"), []byte(texts[i%3]), 0o644)
			time.Sleep(time.Duration(i%7) * 100 * time.Microsecond)
		}
	}()
	var stable, unstable, refused int
	// On a slow machine the test takes longer, so that some reads succeed.
	until, last := time.Now().Add(2*time.Second), time.Now().Add(patience)
	for now := time.Now(); now.Before(until) || stable == 0 && now.Before(last); now = time.Now() {
		r := a.do("read_file", args{"path": "f"})
		switch {
		case !r.ok():
			refused++
		case r.Data.Unstable:
			unstable++
		case strings.HasPrefix(texts[0], r.Content) || strings.HasPrefix(texts[1], r.Content):
			stable++ // a whole version, or the beginning of one
		default:
			t.Errorf("two versions in one, without a mark: %d bytes", len(r.Content))
		}
		// An edit based on content that is gone must not overwrite the current content.
		if r := a.do("edit_file", args{"path": "f", "edits": edits("cccc", "d")}); r.ok() {
			t.Errorf("edited: %s", r.raw)
		}
	}
	close(stop)
	<-stopped
	t.Logf("%d of one moment, %d marked unstable, %d refused", stable, unstable, refused)
	if stable == 0 {
		t.Error("nothing was read")
	}
}
