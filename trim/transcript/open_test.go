package transcript

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/stet-dev/stet/llm"
)

func write(t testing.TB, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const codexHead = `{"timestamp":"2026-01-02T03:00:00Z","type":"session_meta","payload":{"id":"s","cwd":"/p"}}`

const codexUser = `{"timestamp":"2026-01-02T03:00:01Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}}`

// TestOpenRefuses checks that a file without a session gives an error with the reason.
func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		want    error
		says    string
	}{
		"empty.jsonl":   {"", ErrEmpty, "the file is empty"},
		"blank.jsonl":   {"\n\n", ErrFormat, "codex-rollout"},
		"other.json":    {`{"name":"x","version":"1"}`, ErrFormat, "claude-code-jsonl"},
		"list.json":     {`[{"id":"a","format":"b"}]`, ErrFormat, "other"},
		"words.txt":     {"This is a text.", ErrFormat, "words.txt"},
		"bytes.db":      {"\x00\x01\x02\xff", ErrFormat, ""},
		"head.jsonl":    {codexHead, ErrEmpty, ""},
		"damaged.jsonl": {codexHead[:60] + "\n" + codexHead[:70] + "\n", ErrEmpty, "2 damaged, the first in line 1"},
	} {
		path := write(t, filepath.Join(t.TempDir(), name), c.content)
		all, err := Opener{}.Open(path)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v", name, all, err)
			continue
		}
		if c.says == "other" {
			c.says = name
		}
		if !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: the error does not say %q: %v", name, c.says, err)
		}
	}
	if _, err := (Opener{}).Open(filepath.Join(t.TempDir(), "gone")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := (Opener{}).Open(t.TempDir()); !errors.Is(err, ErrFormat) {
		t.Errorf("a directory: %v", err)
	}
}

// TestOpenMangled checks typical kinds of damage.
func TestOpenMangled(t *testing.T) {
	whole := codexHead + "\n" + codexUser + "\n"
	for name, c := range map[string]struct {
		content string
		damaged []int // the numbers of the damaged lines
	}{
		"whole":          {whole, nil},
		"no last break":  {strings.TrimSuffix(whole, "\n"), nil},
		"windows":        {strings.ReplaceAll(whole, "\n", "\r\n"), nil},
		"mark":           {"\xef\xbb\xbf" + whole, nil},
		"blank lines":    {strings.ReplaceAll(whole, "\n", "\n\n \n"), nil},
		"break lost":     {codexHead + codexUser, nil},
		"cut at the end": {whole + codexUser[:40], []int{3}},
		"zeros":          {whole + strings.Repeat("\x00", 100) + "\n", []int{3}},
		"first damaged":  {codexHead[:30] + "\n" + codexUser + "\n", []int{1}},
		"half and whole": {codexHead + "\n" + codexUser[:40] + codexUser + "\n" + codexUser, []int{2}},
		"not an object":  {whole + "[1,2]\n\"x\"\n", nil},
	} {
		path := write(t, filepath.Join(t.TempDir(), "rollout.jsonl"), c.content)
		all, err := Opener{}.Open(path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(all) != 1 || len(all[0].Messages) != 1 || all[0].Messages[0].Parts[0].Text != "hi" {
			t.Errorf("%s: %+v", name, all[0])
		}
		var lines []int
		for _, d := range all[0].Damaged {
			lines = append(lines, d.Line)
		}
		if !reflect.DeepEqual(lines, c.damaged) {
			t.Errorf("%s: damaged %v, want lines %v", name, all[0].Damaged, c.damaged)
		}
	}
}

// TestOpenBrokenDocument cuts a document off at every byte. The messages before the cut are kept, and no message is made
// that was not there.
func TestOpenBrokenDocument(t *testing.T) {
	ar, err := txtar.ParseFile("testdata/golden/opencode-export.txtar")
	if err != nil {
		t.Fatal(err)
	}
	doc := ar.Files[0].Data
	whole, err := Opener{}.read("x.json", bytes.NewReader(doc), 0)
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for i := range doc {
		all, err := Opener{}.read("x.json", bytes.NewReader(doc[:i]), 0)
		if err != nil {
			if !Skipped(err) {
				t.Fatalf("cut at %d: %v", i, err)
			}
			continue
		}
		got, want := all[0].Messages, whole[0].Messages
		if len(got) < last || len(got) > len(want) || !reflect.DeepEqual(got, want[:len(got)]) {
			t.Fatalf("cut at %d: %+v", i, got)
		}
		if i < len(doc)-2 && len(all[0].Damaged) == 0 {
			t.Fatalf("cut at %d: no damage", i)
		}
		last = len(got)
	}
	if last != len(whole[0].Messages) {
		t.Errorf("%d messages of %d", last, len(whole[0].Messages))
	}
}

// TestOpenLongLine checks that a line may have any length.
func TestOpenLongLine(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 1<<19) // 8 MB
	line := `{"timestamp":"2026-01-02T03:00:02Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"` + long + `"}}`
	all, err := Opener{}.read("x.jsonl", strings.NewReader(codexHead+"\n"+codexUser+"\n"+line+"\n"+codexUser+"\n"), 0)
	if err != nil {
		t.Fatal(err)
	}
	m := all[0].Messages
	if len(m) != 3 || m[1].Role != llm.Tool || m[1].Parts[0].Text != long {
		t.Errorf("%d messages", len(m))
	}
}

// TestOpenCircle checks that parents in a circle do not block the reader.
func TestOpenCircle(t *testing.T) {
	line := func(id, parent string) string {
		return fmt.Sprintf(`{"parentUuid":%q,"uuid":%q,"sessionId":"s","type":"user","message":{"role":"user","content":%q}}`+"\n", parent, id, id)
	}
	for _, file := range []string{
		line("a", "b") + line("b", "a"),
		line("a", "a"),
		line("a", "c") + line("b", "a") + line("c", "b") + line("d", "c"),
	} {
		all, err := Opener{}.read("x.jsonl", strings.NewReader(file), 0)
		if err != nil || len(all[0].Messages) == 0 {
			t.Errorf("%v, %v", all, err)
		}
	}
}

// FuzzOpen reads damaged files of every format. There must be no panic, and the sessions must have the properties that
// Session describes.
func FuzzOpen(f *testing.F) {
	names, _ := filepath.Glob("testdata/golden/*.txtar")
	for _, name := range names {
		ar, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(ar.Files[0].Data)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, kind := range formats() {
			if kind.Name == "opencode-storage" {
				continue // it reads other files
			}
			src := &File{path: "x", format: kind.Name, r: bytes.NewReader(b)}
			sessions, err := kind.Read(src)
			if err != nil {
				t.Fatal(err)
			}
			all, err := src.finish(sessions)
			if err != nil && !errors.Is(err, ErrEmpty) {
				t.Fatal(err)
			}
			for _, s := range all {
				for i, at := range s.Starts {
					if at <= 0 || at > len(s.Messages) || i > 0 && at <= s.Starts[i-1] {
						t.Fatalf("%s: starts %v of %d messages", kind.Name, s.Starts, len(s.Messages))
					}
				}
				for _, i := range s.Carried {
					if i >= len(s.Messages) || s.Messages[i].Role != llm.Assistant {
						t.Fatalf("%s: carried %v", kind.Name, s.Carried)
					}
				}
				for i, m := range s.Messages {
					if len(m.Parts) == 0 || m.Role == "" {
						t.Fatalf("%s: message %d: %+v", kind.Name, i, m)
					}
				}
			}
		}
		_, _ = Opener{}.read("x", bytes.NewReader(b), 0)
	})
}

// BILL-4: of a compressed file that is cut off, what is there is read, and the rest is named.
func TestCutZstd(t *testing.T) {
	var lines bytes.Buffer
	for i := range 20_000 {
		fmt.Fprintf(&lines, `{"type":"user","uuid":"%d","parentUuid":"%d","sessionId":"s","message":{"role":"user","content":"%x"}}`+"\n", i+1, i, sha256.Sum256(fmt.Append(nil, i)))
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	data := z.EncodeAll(lines.Bytes(), nil)
	path := filepath.Join(t.TempDir(), "a.jsonl.zst")
	for _, c := range []struct {
		size   int
		reason string
	}{{len(data) / 2, "cut off"}, {50, "cut off"}, {len(data), ""}} {
		if err := os.WriteFile(path, data[:c.size], 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := Opener{}.Open(path)
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(all[0].Damaged)
		}
		if strings.Contains(got, "cut off") != (c.reason != "") || (err == nil) != (c.size > 50) {
			t.Errorf("%d bytes of %d: %s", c.size, len(data), got)
		}
	}
}
