package workspace

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// TestEncodings is FILE-16: names, byte-order marks, strictness, and the conversion back.
func TestEncodings(t *testing.T) {
	tests := []struct{ name, bytes, text string }{
		{"utf-8", "h\xc3\xa9\n", "hé\n"},
		{"", "h\xc3\xa9\n", "hé\n"},
		{"UTF_8", "x", "x"},
		{"latin1", "h\xe9\n", "hé\n"},
		{"ISO-8859-1", "\xe9", "é"},
		{"windows-1252", "\x80\n", "€\n"},
		{"windows-1251", "\xcf\xf0", "Пр"},
		{"koi8-r", "\xf0\xd2", "Пр"},
		{"gbk", "\xc4\xe3\xba\xc3\n", "你好\n"},
		{"gb18030", "\xc4\xe3\x84\x31\xa4\x37", "你\ufffd"},
		{"big5", "\xa7\x41", "你"},
		{"shift_jis", "\x82\xa0\\n", "あ\\n"},
		{"euc-jp", "\xa4\xa2", "あ"},
		{"iso-2022-jp", "\x1b$B$\"\x1b(B\n", "あ\n"},
		{"euc-kr", "\xb0\xa1", "가"},
		{"utf-16le", "h\x00\xe9\x00", "hé"},
		{"utf-16be", "\x00h\x00\xe9", "hé"},
		{"utf-32le", "h\x00\x00\x00", "h"},
		{"utf-16", "\xff\xfeh\x00", "h"},
		{"us-ascii", "plain", "plain"},
		{"utf-8", "\xef\xbb\xbfx", "x"},
		{"utf-8", "\xfe\xff\x00x\x4f\x60", "x你"}, // the byte-order mark decides
		{"utf-8", "\xff\xfe\x00\x00x\x00\x00\x00", "x"},
		{"gbk", "\xff\xfe\x3d\xd8\x00\xde", "😀"},
	}
	for _, tt := range tests {
		asked, err := FindEncoding(tt.name)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		text, found, err := asked.Decode([]byte(tt.bytes))
		if err != nil || text != tt.text {
			t.Errorf("%s: %q became %q, %v, want %q", tt.name, tt.bytes, text, err, tt.text)
		}
		if back, err := found.Encode(text); err != nil || string(back) != tt.bytes {
			t.Errorf("%s: %q went back to %q, %v", tt.name, tt.bytes, back, err)
		}
		if again, err := FindEncoding(found.String()); err != nil || again.WithBOM(found.BOM()) != found {
			t.Errorf("%s is found again as %v, %v", found, again, err)
		}
	}
	for name, b := range map[string]string{
		"utf-8": "\xff", "us-ascii": "\xe9", "gbk": "\x81", "shift_jis": "\x82", "utf-16le": "\x00\xd8x\x00", "utf-16be": "\x00",
		"euc-jp": "\x8f\x00", "utf-32le": "\x00\x00\x11\x00", "big5": "\xff",
	} {
		e, err := FindEncoding(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = e.Decode([]byte(b))
		wantErr(t, name, err, ErrEncoding)
	}
	for name, text := range map[string]string{"latin1": "你", "gbk": "😀", "us-ascii": "é", "utf-8": "\xff", "koi8-r": "é"} {
		e, err := FindEncoding(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Encode(text)
		wantErr(t, name, err, ErrEncoding)
	}
	for _, name := range []string{"klingon", "replacement", "utf-7", "\x00"} {
		_, err := FindEncoding(name)
		wantErr(t, name, err, ErrEncoding)
	}
}

// TestPagesInEncodings checks pages of files that are not UTF-8, with and without Replace. (READ-9, FILE-16)
func TestPagesInEncodings(t *testing.T) {
	tr := newTree(t, Options{})
	ctx := context.Background()
	text := "zwölf\r\nBoxkämpfer\nohne Ende"
	for _, name := range []string{"latin1", "utf-16le", "utf-16be", "utf-32be", "utf-16", "gb18030", "windows-1252"} {
		e, err := FindEncoding(name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := e.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		tr.put(name, string(b))
		pg, err := tr.Page(ctx, tr.path(name), PageRequest{Encoding: e})
		if err != nil || pageText(pg) != text || pg.Total != 3 || pg.Encoding.String() != e.String() {
			t.Errorf("%s: %q, total %d, %v, %v", name, pageText(pg), pg.Total, pg.Encoding, err)
		}
		pg, err = tr.Page(ctx, tr.path(name), PageRequest{Encoding: e, Line: 2, Lines: 1, Column: 4, Width: 3})
		if err != nil || len(pg.Lines) != 1 || pg.Lines[0].Text != "käm" || pg.Lines[0].More != 7 {
			t.Errorf("%s: %+v, %v", name, pg.Lines, err)
		}
	}
	tr.put("bad", "x\xff")
	c, err := tr.ReadAll(ctx, tr.path("bad"))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = c.Text(Encoding{})
	wantErr(t, "text", err, ErrEncoding)
	tr.put("bad", "ok\nb\xe9d\nok\n")
	_, err = tr.Page(ctx, tr.path("bad"), PageRequest{})
	wantErr(t, "strict", err, ErrEncoding)
	pg, err := tr.Page(ctx, tr.path("bad"), PageRequest{Replace: true})
	if err != nil || !pg.Fallback || pageText(pg) != "ok\nb\ufffdd\nok\n" {
		t.Errorf("replaced: %q, %v, %v", pageText(pg), pg.Fallback, err)
	}
	pg, err = tr.Page(ctx, tr.path("bad"), PageRequest{Line: 3})
	if err != nil || pg.Fallback {
		t.Errorf("a page without the bad byte: %v", err)
	}
	// A replacement character that is in the file is not an invalid byte.
	tr.put("has", "a\ufffdb")
	if pg, err := tr.Page(ctx, tr.path("has"), PageRequest{Replace: true}); err != nil || pg.Fallback {
		t.Errorf("%v, %v", pg.Fallback, err)
	}
}

// TestBinary is READ-9: a NUL in the first 8 KB means binary, but a byte-order mark has priority.
func TestBinary(t *testing.T) {
	tr := newTree(t, Options{})
	ctx := context.Background()
	for name, b := range map[string]string{
		"png": "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "nul": "text\x00", "at the edge": strings.Repeat("x", 8191) + "\x00",
	} {
		tr.put(name, b)
		for _, replace := range []bool{false, true} {
			_, err := tr.Page(ctx, tr.path(name), PageRequest{Replace: replace})
			wantErr(t, name, err, ErrBinary)
		}
	}
	for name, want := range map[string]error{"png": ErrBinary, "nul": ErrBinary} {
		c, err := tr.ReadAll(ctx, tr.path(name))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = c.Text(Encoding{})
		wantErr(t, name, err, want)
	}
	// A text may begin as another kind of file does, and its last character may be cut. A PDF file may be text.
	for head, want := range map[string]bool{
		"GIF89a is a format\n": false, "GIF89a\x01\x00\x01\x00": true, "GIF89a\x80\x02": true, "GIF89a\x01\x02": true, "!<arch>\nis ar\n": false, "wOFF\t日本": false,
		"%PDF-1.7\ntext": true, "%PDF- is its beginning": false, "PK\x03\x04": true, "GIF89a" + strings.Repeat("日", 4000): false, "BZh91AY&SY is bzip2": false,
	} {
		if got := Binary([]byte(head)); got != want {
			t.Errorf("%.20q is binary: %v", head, got)
		}
	}
	// UTF-16 without a mark has NULs; the error says what it seems to be.
	for data, want := range map[string]string{
		"a\x00b\x00\xe4\x00\n\x00": "utf-16le", "\x00a\x00b\x00\n": "utf-16be", "a\x00": "", "text\x00\x00": "", "a\x00b\x00\x00c\x00d": "",
	} {
		tr.put("wide", data)
		c, err := tr.ReadAll(ctx, tr.path("wide"))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = c.Text(Encoding{})
		wantErr(t, data, err, ErrBinary)
		if seems := strings.Contains(err.Error(), "it seems to be "+want+" without"); seems != (want != "") {
			t.Errorf("%q: %v", data, err)
		}
	}
	tr.put("late", strings.Repeat("x", 8192)+"\x00\n")
	if _, err := tr.Page(ctx, tr.path("late"), PageRequest{}); err != nil {
		t.Error(err)
	}
	tr.put("marked", "\xff\xfea\x00\n\x00")
	if c, err := tr.ReadAll(ctx, tr.path("marked")); err != nil {
		t.Error(err)
	} else if text, e, err := c.Text(Encoding{}); err != nil || text != "a\n" || e.String() != "utf-16le" || !e.BOM() {
		t.Errorf("%q, %v, %v", text, e, err)
	}
	if pg, err := tr.Page(ctx, tr.path("marked"), PageRequest{}); err != nil || pageText(pg) != "a\n" {
		t.Errorf("%q, %v", pageText(pg), err)
	}
}

func pageText(pg Page) string {
	var b strings.Builder
	for _, l := range pg.Lines {
		b.WriteString(l.Text + l.End)
	}
	return b.String()
}

func FuzzDecode(f *testing.F) {
	for _, n := range []string{"utf-8", "gbk", "utf-16", "shift_jis", "iso-2022-jp", "gb18030"} {
		f.Add(n, []byte("\xff\xfea\x00\x81\x30\n"))
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		e, err := FindEncoding(name)
		if err != nil {
			return
		}
		text, found, err := e.Decode(data)
		if err != nil || found.Stateful() {
			return
		}
		// Text that was decoded without an error can be encoded, and decodes to the same text again. The bytes may differ,
		// because several byte sequences may stand for one character.
		back, err := found.Encode(text)
		if err != nil {
			return
		}
		if again, _, err := found.Decode(back); err != nil || again != text {
			t.Fatalf("%s: %q, %q, %q, %v", name, data, text, back, err)
		}
		if found.name == "" && !bytes.Equal(back, data) {
			t.Fatalf("%q became %q", data, back)
		}
	})
}
