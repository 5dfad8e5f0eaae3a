package filetools

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/tool"
)

// readLarge reads a file for a caller that accepts the content separately from the result.
func (b *bench) readLarge(t *testing.T, arguments string) tool.Result {
	t.Helper()
	x, _ := b.set.Get("read_file")
	p, err := x.Plan(t.Context(), tool.Call{Session: "one", Name: "read_file", Arguments: json.RawMessage(arguments), Large: true})
	if err != nil {
		t.Fatal(err)
	}
	return p.Result()
}

// A large read needs bounded memory: the number of allocated bytes does not grow with the file. (FILE-8, FILE-9)
func TestLargeReadIsStreamed(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	line := "größe \"日本\" 🌱 and some more, up to the end of it\r\n"
	text := strings.Repeat(line, 40<<20/len(line))
	b.put("large", "\ufeff"+text)
	b.readLarge(t, `{"path":"large"}`).Content.Close() // the first read allocates what is allocated only once
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := b.readLarge(t, `{"path":"large"}`)
	if r.Failed() || r.Content == nil || r.Content.Size != int64(len(text)) {
		t.Fatalf("%+v", r)
	}
	buf := make([]byte, 128<<10)
	for at := 0; ; {
		n, err := r.Content.Read(buf)
		if string(buf[:n]) != text[at:at+n] {
			t.Fatalf("another text at byte %d", at)
		}
		if at += n; errors.Is(err, io.EOF) && at == len(text) {
			break
		}
		if err != nil {
			t.Fatalf("after %d bytes: %v", at, err)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 2<<20 {
		t.Errorf("%d bytes were allocated for a file of %d", grown, len(text))
	}
	var said struct {
		Success bool
		Content *string
		Lines   int `json:"lines_read"`
		Data    struct {
			Encoding string
			Total    int `json:"total_lines"`
		}
	}
	lines := strings.Count(text, "\n")
	if err := json.Unmarshal([]byte(r.Text), &said); err != nil || !said.Success || said.Content != nil || said.Lines != lines || said.Data.Total != lines ||
		said.Data.Encoding != "utf-8 with a byte-order mark" {
		t.Errorf("%s %v", r.Text, err)
	}
	if err := r.Content.Close(); err != nil {
		t.Error(err)
	}
	if !b.tools.Tracker("one").HasBeenRead("large") {
		t.Error("it does not count as read")
	}
}

// If a file changes while it is streamed, the reader gets the old content, or an error at the end. It never gets a text that the
// file did not contain.
func TestStreamedFileChanges(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{WriteLimit: 1000, PartsLimit: 100_000})
	text := strings.Repeat("0123456789abcde\n", 2000)
	name := filepath.Join(b.dir, "f")
	for what, change := range map[string]func() error{
		"grows": func() error {
			f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString("more\n")
				err = errors.Join(err, f.Close())
			}
			return err
		},
		"is replaced":        func() error { return errors.Join(os.Remove(name), os.WriteFile(name, []byte("other"), 0o644)) },
		"shrinks":            func() error { return os.Truncate(name, 100) },
		"is written to":      func() error { return os.WriteFile(name, bytes.ToUpper([]byte(text)), 0o644) },
		"is written to late": nil,
	} {
		b.put("f", text)
		r := b.readLarge(t, `{"path":"f"}`)
		if r.Content == nil {
			t.Fatal(r)
		}
		var got []byte
		var err error
		if change == nil {
			got = make([]byte, len(text)-1)
			if _, err = io.ReadFull(r.Content, got); err == nil {
				err = os.WriteFile(name, []byte(text[:len(text)-1]+"!"), 0o644)
			}
		} else {
			err = change()
		}
		if err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(r.Content)
		got = append(got, rest...)
		whole := what == "grows" || what == "is replaced"
		if whole != (err == nil && string(got) == text) || !whole && !errors.Is(err, tool.ErrChanged) {
			t.Errorf("a file that %s: %d bytes: %v", what, len(got), err)
		}
		_ = r.Content.Close() // the file was open only for reading
	}
}

// If a large file cannot be shown, the error comes before any of its content.
func TestStreamedFileIsRefused(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{WriteLimit: 1000, ReadLimit: 5000, PartsLimit: 100_000})
	for _, c := range []struct {
		name, text string
		code       tool.Code
	}{
		{"too large", strings.Repeat("x", 100_001), tool.FileTooLarge},
		{"binary", strings.Repeat("x", 5000) + "\x00" + strings.Repeat("x", 20_000), tool.BinaryFile},
		{"not UTF-8", strings.Repeat("ü", 20_000) + "\xc3", tool.EncodingError},
		{"half a character in the middle", strings.Repeat("x", 40_000) + "\xc3x", tool.EncodingError},
	} {
		b.put("f", c.text)
		if r := b.readLarge(t, `{"path":"f"}`); r.Code != c.code || r.Content != nil {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
	// A file in another encoding is read whole. If it is large, its content is also separate from the result.
	b.put("latin", strings.Repeat("gr\xf6\xdfe\n", 500))
	if r := b.readLarge(t, `{"path":"latin","encoding":"latin-1"}`); r.Failed() || !strings.Contains(r.Text, "größe") {
		t.Errorf("%.300s", r.Text)
	}
}
