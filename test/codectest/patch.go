package codectest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
)

// marked is the key of the object that replaces edited arguments.
const marked = "left out"

// differences compares two documents. They may differ only in strings, and in objects that were replaced by an object with the
// key marked. It returns the differing values, before and after.
func differences(t testing.TB, before, after []byte) (out [][2]string) {
	t.Helper()
	a, b := document(t, before), document(t, after)
	var walk func(a, b any)
	walk = func(a, b any) {
		switch a := a.(type) {
		case map[string]any:
			b, ok := b.(map[string]any)
			if _, is := b[marked]; is && len(b) == 1 {
				out = append(out, [2]string{canonical(t, a), canonical(t, b)})
				return
			}
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

func document(t testing.TB, body []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %.200q", err, body)
	}
	return v
}

func canonical(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// arguments returns the new arguments of a call for an edit, and the old ones in the form in which differences returns them.
// object says that the arguments are an object in the body.
func arguments(text, args string, object bool) (becomes, was string) {
	var v any
	d := json.NewDecoder(strings.NewReader(args))
	d.UseNumber()
	if d.Decode(&v) != nil || !json.Valid([]byte(args)) {
		return text, args
	}
	b, _ := json.Marshal(map[string]string{marked: text}) // strings can always be encoded
	if object {
		was, _ := json.Marshal(v) // v was just decoded
		return string(b), string(was)
	}
	return string(b), args
}

// Patch edits every part for which pick is true, and checks the result. It returns the number of edited parts.
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
			if pick(m, p) && p.Span.Valid() && p.Kind != llm.Thinking {
				text, was := fmt.Sprintf("[left out \"%d.%d\"]\n\\", i, j), strings.TrimPrefix(p.Text, p.Head)
				if p.Kind == llm.ToolCall {
					text, was = arguments(text, p.Args, body[p.Span.Start] == '{')
				}
				edits = append(edits, llm.Edit{Message: i, Part: j, Text: text})
				want[text] = was
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
		p := again.Messages[e.Message].Parts[e.Part]
		if p.Kind == llm.ToolCall {
			p.Text = p.Args
		}
		if p.Text != p.Head+e.Text {
			t.Fatalf("decoded %q, want %q", p.Text, p.Head+e.Text)
		}
	}
	return len(edits)
}

// RemoveThinking removes every block of thinking that can be removed, and checks the result. It returns their number.
func RemoveThinking(t testing.TB, c llm.Codec, body []byte, req *llm.Request) int {
	t.Helper()
	var edits []llm.Edit
	for i, m := range req.Messages {
		for j, p := range m.Parts {
			if p.Kind == llm.Thinking && p.Span.Valid() {
				edits = append(edits, llm.Edit{Message: i, Part: j})
			}
		}
	}
	out, err := c.Patch(nil, body, req, edits)
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Decode(out)
	if err != nil {
		t.Fatal(err)
	}
	before, err := c.Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	got, want := Spanless(again).Messages, llm.Apply(Spanless(before).Messages, edits)
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("without thinking:\n%+v\nwant\n%+v", got, want)
	}
	return len(edits)
}

// IsResult selects the results of tools.
func IsResult(_ llm.Message, p llm.Part) bool { return p.Kind == llm.ToolResult }

// IsAny selects every part.
func IsAny(llm.Message, llm.Part) bool { return true }

// Fuzz decodes bodies that are derived from the samples. A valid body can be patched, and encoded again to a valid body.
func Fuzz(f *testing.F, c llm.Codec, samples ...string) {
	for _, body := range samples {
		f.Add([]byte(body))
	}
	sample := []byte(samples[0])
	first, err := c.Decode(sample)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := c.Decode(body)
		after(t, c, body, sample, first)
		if err != nil {
			return
		}
		after(t, c, body, body, req)
		again, err := c.Encode(req)
		if !json.Valid(body) {
			return // Decode accepts invalid JSON in strings that it does not read
		}
		Patch(t, c, body, req, IsAny)
		RemoveThinking(t, c, body, req)
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
