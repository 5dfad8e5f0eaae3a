// Package codectest has the test suite that every llm.Codec passes, with its checks and a benchmark. The suite tests the
// properties of all formats. The tests of a codec itself show its wire format.
package codectest

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/stet-dev/stet/llm"
	"pgregory.net/rapid"
)

// Format is a codec, with the properties of its wire format that the suite needs.
type Format struct {
	Codec  llm.Codec
	Sample string // a request body that uses all features of the format

	Thought  string // Raw of reasoning; each %[1]s is replaced by its text as a JSON string
	Opaque   string // Raw of an opaque part in a user message
	MinLimit int    // the smallest MaxTokens that the format preserves
	Together bool   // the results for the calls of one answer are one message
	Flagged  bool   // the format has an error flag for results
	Free     bool   // the format has tools that take free text
	Pathed   bool   // the model and Stream are in the path, and the body has no key of the conversation
}

// Run runs the suite.
func Run(t *testing.T, f Format) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Format)
	}{
		{"what is encoded is decoded", roundTrip},
		{"what cannot be encoded", refuses},
		{"nothing of the body is kept", ownership},
		{"space around the body", space},
		{"escapes", escapes},
		{"what begins alike", sharedBeginnings},
		{"large bodies", large},
		{"meters of strange bytes", invalidBytes},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, f) })
	}
}

// Spanless removes the spans from the parts of req, because only a decoded request has them. It returns req.
func Spanless(req *llm.Request) *llm.Request {
	for _, m := range req.Messages {
		for i := range m.Parts {
			m.Parts[i].Span = llm.Span{}
		}
	}
	req.Layout = nil
	return req
}

func roundTrip(t *testing.T, f Format) {
	rapid.Check(t, func(t *rapid.T) {
		want := f.request(t)
		body, err := f.Codec.Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := f.Codec.Encode(want); !bytes.Equal(body, again) {
			t.Fatal("encoded twice, differently")
		}
		got, err := f.Codec.Decode(body)
		if err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		if !reflect.DeepEqual(Spanless(got), want) {
			t.Fatalf("%s\ngot  %+v\nwant %+v", body, got, want)
		}
	})
}

func refuses(t *testing.T, f Format) {
	schema := &llm.Request{}
	schema.AddTool("t", "", []byte("{"))
	for name, req := range map[string]*llm.Request{
		"chained": {Chained: true},
		"role":    {Messages: []llm.Message{{Role: "robot"}}},
		"opaque":  {Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Kind: llm.Opaque, Raw: "{"}}}}},
		"schema":  schema,
	} {
		if body, err := f.Codec.Encode(req); err == nil {
			t.Errorf("%s passed: %s", name, body)
		}
	}
}

func ownership(t *testing.T, f Format) {
	body := []byte(f.Sample)
	req, err := f.Codec.Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	clear(body)
	if again, _ := f.Codec.Decode([]byte(f.Sample)); !reflect.DeepEqual(req, again) {
		t.Error("the request changed with the body")
	}
}

// White space around a body is ignored, and so is a byte-order mark before it.
func space(t *testing.T, f Format) {
	body := []byte(" \r\n\t" + f.Sample + "\n ")
	got, err := f.Codec.Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	if Patch(t, f.Codec, body, got, IsAny) == 0 {
		t.Error("nothing to edit")
	}
	want, err := f.Codec.Decode([]byte(f.Sample))
	if err != nil || !reflect.DeepEqual(Spanless(got), Spanless(want)) {
		t.Errorf("%v: %+v, want %+v", err, got, want)
	}
	if got, err = f.Codec.Decode(append([]byte("\ufeff"), body...)); err != nil || !reflect.DeepEqual(Spanless(got), Spanless(want)) {
		t.Errorf("behind a byte-order mark: %v: %+v, want %+v", err, got, want)
	}
}

// A text that is written with escapes can be edited. A text that UTF-8 cannot express without loss cannot be edited, because an
// edit would change its remaining part.
func escapes(t *testing.T, f Format) {
	plain := encode(t, f.Codec, &llm.Request{Messages: []llm.Message{
		{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: "c", Text: "cut here"}}}}})
	for _, text := range []struct {
		written, want string
		editable      bool
	}{
		{`\u00e9\ud83d\ude00\u0000\/`, "é😀\x00/", true},
		{`cut \ud83d here`, "cut \ufffd here", false},
		{`\ude00\ud83d`, "\ufffd\ufffd", false},
		{"\xff", "\ufffd", false},
	} {
		body := bytes.Replace(plain, []byte("cut here"), []byte(text.written), 1)
		req, err := f.Codec.Decode(body)
		if err != nil {
			t.Fatal(err)
		}
		if p := req.Messages[0].Parts[0]; p.Text != text.want || p.Span.Valid() != text.editable {
			t.Errorf("%s: %+v", text.written, p)
		}
	}
}
