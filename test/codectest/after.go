package codectest

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/stet-dev/stet/llm"
	"pgregory.net/rapid"
)

// after checks that DecodeAfter with an earlier body gives the same result as Decode. It returns the request, or nil if body
// cannot be decoded.
func after(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, c llm.Codec, body, earlierBody []byte, earlier *llm.Request) *llm.Request {
	t.Helper()
	want, wantErr := c.Decode(body)
	was := bytes.Clone(earlierBody)
	same := 0
	for same < min(len(body), len(earlierBody))/2 && body[same] == earlierBody[same] {
		same++
	}
	got, err := c.DecodeAfter(body, earlier, earlierBody, same)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%s\nafter %s\n%v, want %v", body, earlierBody, err, wantErr)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s\nafter %s\ngot  %+v\nwant %+v", body, earlierBody, got, want)
	}
	if !bytes.Equal(was, earlierBody) {
		t.Fatalf("the earlier body was written to")
	}
	return got
}

// sharedBeginnings decodes a series of bodies. Each begins like the one before: with the same part
// of a conversation, or with the same bytes.
func sharedBeginnings(t *testing.T, f Format) {
	rapid.Check(t, func(t *rapid.T) {
		body := []byte(f.Sample)
		if rapid.Bool().Draw(t, "drawn") {
			body = encodeAny(t, f, f.request(t))
		}
		req, err := f.Codec.Decode(body)
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 5).Draw(t, "times") {
			next := f.next(t, body, req)
			got := after(t, f.Codec, next, body, req)
			if got != nil {
				body, req = next, got
			}
		}
	})
}

// next returns a random body that begins like body.
func (f Format) next(t *rapid.T, body []byte, req *llm.Request) []byte {
	switch rapid.SampledFrom([]string{"goes on", "went back", "bytes", "marker", "same"}).Draw(t, "next") {
	case "goes on", "went back":
		grown := f.request(t)
		if n := len(req.Messages); !req.Chained {
			if rapid.Bool().Draw(t, "back") {
				n = rapid.IntRange(0, n).Draw(t, "left")
			}
			grown.Messages = append(append([]llm.Message(nil), req.Messages[:n]...), grown.Messages...)
		}
		if rapid.Bool().Draw(t, "tools stay") {
			grown.Tools = req.Tools
		}
		return encodeAny(t, f, grown)
	case "marker":
		return toggle(t, body, `,"cache_control":{"type":"ephemeral","ttl":"1h"}}`)
	case "bytes":
		at := rapid.IntRange(0, len(body)).Draw(t, "at")
		to := rapid.IntRange(at, min(len(body), at+9)).Draw(t, "to")
		piece := rapid.SampledFrom([]string{"", " ", "x", `"`, "}", "]", "{", `,"tools":[]`, `,"system":"s"`, `\n`}).Draw(t, "piece")
		return bytes.Join([][]byte{body[:at], []byte(piece), body[to:]}, nil)
	}
	return bytes.Clone(body)
}

// toggle inserts what at the end of an object, or removes it.
func toggle(t *rapid.T, body []byte, what string) []byte {
	if i := bytes.Index(body, []byte(what)); i >= 0 && rapid.Bool().Draw(t, "away") {
		return bytes.Join([][]byte{body[:i], []byte("}"), body[i+len(what):]}, nil)
	}
	n := bytes.Count(body, []byte("}"))
	at := -1
	for range rapid.IntRange(1, n).Draw(t, "object") {
		at += 1 + bytes.IndexByte(body[at+1:], '}')
	}
	return bytes.Join([][]byte{body[:at], []byte(what), body[at+1:]}, nil)
}

func encodeAny(t *rapid.T, f Format, req *llm.Request) []byte {
	body, err := f.Codec.Encode(req)
	if err != nil {
		t.Fatal(err)
	}
	return body
}
