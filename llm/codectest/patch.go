package codectest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stet-dev/stet/llm"
)

// differences walks two documents that must be alike but for strings, and
// returns the strings that differ, before and after.
func differences(t testing.TB, before, after []byte) (out [][2]string) {
	t.Helper()
	var a, b any
	for _, in := range []struct {
		body []byte
		to   *any
	}{{before, &a}, {after, &b}} {
		d := json.NewDecoder(bytes.NewReader(in.body))
		d.UseNumber()
		if err := d.Decode(in.to); err != nil {
			t.Fatalf("%v in %.200q", err, in.body)
		}
	}
	var walk func(a, b any)
	walk = func(a, b any) {
		switch a := a.(type) {
		case map[string]any:
			b, ok := b.(map[string]any)
			if !ok || len(a) != len(b) {
				t.Fatalf("object became %v", b)
			}
			for k := range a {
				if _, ok := b[k]; !ok {
					t.Fatalf("key %q is gone", k)
				}
				walk(a[k], b[k])
			}
		case []any:
			b, ok := b.([]any)
			if !ok || len(a) != len(b) {
				t.Fatalf("array became %v", b)
			}
			for i := range a {
				walk(a[i], b[i])
			}
		case string:
			b, ok := b.(string)
			if !ok {
				t.Fatalf("string became %v", b)
			}
			if a != b {
				out = append(out, [2]string{a, b})
			}
		default:
			if a != b {
				t.Fatalf("%v became %v", a, b)
			}
		}
	}
	walk(a, b)
	return out
}

// Patch edits every part that pick chooses and checks what came of it. It
// returns how many there were.
func Patch(t testing.TB, c llm.Codec, body []byte, req *llm.Request, pick func(llm.Message, llm.Part) bool) int {
	t.Helper()
	same, err := c.Patch(nil, body, req, nil)
	if err != nil || !bytes.Equal(same, body) {
		t.Fatalf("no edits: %v", err)
	}
	var edits []llm.Edit
	want := map[string]string{}
	for i, m := range req.Messages {
		for j, p := range m.Parts {
			if pick(m, p) && p.Span.Valid() {
				text := fmt.Sprintf("[left out \"%d.%d\"]\n\\", i, j)
				edits = append(edits, llm.Edit{Message: i, Part: j, Text: text})
				want[text] = p.Text
			}
		}
	}
	out, err := c.Patch(nil, body, req, edits)
	if err != nil {
		t.Fatal(err)
	}
	diffs := differences(t, body, out)
	if len(diffs) != len(edits) {
		t.Fatalf("%d edits, %d differences", len(edits), len(diffs))
	}
	for _, d := range diffs {
		if old, ok := want[d[1]]; !ok || old != d[0] {
			t.Fatalf("%q became %q", d[0], d[1])
		}
	}
	again, err := c.Decode(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range edits {
		if got := again.Messages[e.Message].Parts[e.Part].Text; got != e.Text {
			t.Fatalf("decoded %q, want %q", got, e.Text)
		}
	}
	return len(edits)
}

// IsResult picks the results of tools.
func IsResult(_ llm.Message, p llm.Part) bool { return p.Kind == llm.ToolResult }

// IsAny picks every part.
func IsAny(llm.Message, llm.Part) bool { return true }

// Fuzz decodes what comes out of the samples. What is valid can be patched,
// and encoded to something valid.
func Fuzz(f *testing.F, c llm.Codec, samples ...string) {
	for _, body := range samples {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := c.Decode(body)
		if err != nil {
			return
		}
		again, err := c.Encode(req)
		if !json.Valid(body) {
			return // strings nobody asked for are not looked into
		}
		Patch(t, c, body, req, IsAny)
		if req.Chained {
			return
		}
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		if !json.Valid(again) {
			t.Fatalf("encoded %s", again)
		}
	})
}
